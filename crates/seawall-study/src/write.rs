//! Output files, written whole or not at all.
//!
//! A file is filled before it gets its name. On Linux it has none until then, so that a program
//! that is interrupted, or killed, leaves nothing behind; elsewhere, and in file systems that know
//! no nameless files, it is called `.tmp…` while it is filled.

use seawall::{Error, Result};
use std::fmt::Display;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use tempfile::{Builder, NamedTempFile};

/// A file that is complete but does not have its name yet.
pub struct Pending {
    file: Unnamed,
    path: PathBuf,
}

/// A file without its name.
enum Unnamed {
    /// Without any: gone when it is closed.
    #[cfg(target_os = "linux")]
    Nameless(File),
    /// With another one.
    Named(NamedTempFile),
}

impl Unnamed {
    fn in_folder(folder: &Path) -> std::io::Result<Self> {
        #[cfg(target_os = "linux")]
        if let Some(file) = nameless::file(folder) {
            return Ok(Unnamed::Nameless(file));
        }
        readable().tempfile_in(folder).map(Unnamed::Named)
    }

    fn file(&mut self) -> &mut File {
        match self {
            #[cfg(target_os = "linux")]
            Unnamed::Nameless(file) => file,
            Unnamed::Named(file) => file.as_file_mut(),
        }
    }

    /// Gives it a name, in the place of whatever has it.
    fn name(self, path: &Path) -> std::io::Result<()> {
        match self {
            #[cfg(target_os = "linux")]
            Unnamed::Nameless(file) => nameless::name(file, path),
            Unnamed::Named(file) => file.persist(path).map(|_| ()).map_err(|e| e.error),
        }
    }
}

/// Temporary files as readable as any new one, rather than private.
fn readable() -> Builder<'static, 'static> {
    let mut builder = Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder
}

/// Files that no folder lists.
#[cfg(target_os = "linux")]
mod nameless {
    use super::{folder_of, readable};
    use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, open};
    use std::fs::File;
    use std::io::{Result, Seek};
    use std::os::fd::AsRawFd;
    use std::path::Path;

    /// One; None where there are none of that kind.
    pub(super) fn file(folder: &Path) -> Option<File> {
        let how = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        open(folder, how, Mode::from_raw_mode(0o666)).ok().map(File::from)
    }

    /// Gives one a name. A name that is taken can only be moved onto, so it gets another first.
    pub(super) fn name(mut file: File, path: &Path) -> Result<()> {
        let own = format!("/proc/self/fd/{}", file.as_raw_fd());
        let link = |at: &Path| {
            linkat(CWD, &*own, CWD, at, AtFlags::SYMLINK_FOLLOW).map_err(std::io::Error::from)
        };
        if let Ok(named) = readable().make_in(folder_of(path), link) {
            return named.persist(path).map(|_| ()).map_err(|e| e.error);
        }
        // Without /proc it cannot be named, only copied.
        let mut copy = readable().tempfile_in(folder_of(path))?;
        file.rewind()?;
        std::io::copy(&mut file, copy.as_file_mut())?;
        copy.as_file().sync_all()?;
        copy.persist(path).map(|_| ()).map_err(|e| e.error)
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn unwritable(path: &Path, error: &std::io::Error) -> Error {
    Error::input(format!("{}: cannot be written: {error}", path.display()))
}

/// Where an output would really be written: links are followed. Refuses what is not a regular
/// file, a folder that is not there, and the file that is being read.
pub fn destination(path: &Path, input: &Path) -> Result<PathBuf> {
    let bad =
        |what: &dyn Display| Error::input(format!("{}: cannot be written: {what}", path.display()));
    let folder = folder_of(path);
    let real = match path.canonicalize() {
        Ok(real) if real.is_file() => real,
        Ok(_) => return Err(bad(&"it is there already and is not a regular file")),
        Err(_) => match (folder.canonicalize(), path.file_name()) {
            (Ok(folder), Some(name)) => folder.join(name),
            (Err(error), _) => return Err(bad(&error)),
            (_, None) => return Err(bad(&"it has no file name")),
        },
    };
    if input.canonicalize().is_ok_and(|input| input == real) {
        return Err(bad(&"it is the file that is read"));
    }
    Ok(real)
}

/// Refuses a folder in which no file can be made, before the work whose answer is to go there.
pub fn check_writable(path: &Path) -> Result<()> {
    Unnamed::in_folder(folder_of(path)).map(|_| ()).map_err(|error| unwritable(path, &error))
}

/// Fills a nameless neighbour of `path` through `fill`.
pub fn prepare(
    path: PathBuf,
    fill: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<Pending> {
    let write = || -> std::io::Result<Unnamed> {
        let mut file = Unnamed::in_folder(folder_of(&path))?;
        filled(file.file(), fill)?;
        Ok(file)
    };
    match write() {
        Ok(file) => Ok(Pending { file, path }),
        Err(error) => Err(unwritable(&path, &error)),
    }
}

fn filled(
    file: &mut File,
    fill: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let mut buffer = BufWriter::new(&mut *file);
    fill(&mut buffer)?;
    buffer.flush()?;
    drop(buffer);
    file.sync_all()
}

/// Puts what could not be written where it should go into the folder of temporary files, where it
/// stays; where that is.
pub fn rescue(ending: &str, text: &str) -> std::io::Result<PathBuf> {
    let mut file = Builder::new().prefix("seawall-").suffix(ending).tempfile()?;
    filled(file.as_file_mut(), |out| writeln!(out, "{text}"))?;
    let (_, path) = file.keep().map_err(|e| e.error)?;
    Ok(path)
}

impl Pending {
    /// Gives the file its name.
    pub fn keep(self) -> Result<()> {
        let Pending { file, path } = self;
        file.name(&path).map_err(|error| unwritable(&path, &error))
    }
}

/// A field of a CSV file: quoted where it must be.
pub fn csv_field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
