//! Output files, written whole or not at all.
//!
//! A file is filled before it gets its name. On Linux it has none until then, so that a program
//! that is interrupted, or killed, leaves nothing behind; elsewhere, and in file systems that know
//! no nameless files, it is called `.tmp…` while it is filled.
//!
//! Nothing can put a nameless file in the place of another one at once: where a name is taken, the
//! new file is called `.tmp…` for the moment between two calls of the system. Who is killed there
//! leaves the old file whole and the new one, whole too, beside it. An interrupt waits for the
//! moment to pass ([`undisturbed`]).

use seawall::{Error, Result};
use std::fmt::Display;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tempfile::{Builder, NamedTempFile, TempPath};

/// Endings that a reader takes for something else than CSV.
const OTHER_FORMATS: [&str; 18] = [
    "xls", "orc", "avro", "lz4", "parquet", "pq", "json", "jsonl", "ndjson", "gz", "zst", "bz2",
    "xz", "zip", "xlsx", "feather", "arrow", "html",
];

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

    /// Gives it the name, if it has none and nobody else has this one; whether it did.
    #[cfg_attr(not(target_os = "linux"), expect(unused_variables))]
    fn takes(&self, path: &Path) -> bool {
        match self {
            #[cfg(target_os = "linux")]
            Unnamed::Nameless(file) => nameless::link(file, path).is_ok(),
            Unnamed::Named(_) => false,
        }
    }

    /// Gives it another name, from which it can be moved onto this one.
    #[cfg_attr(not(target_os = "linux"), expect(unused_variables))]
    fn beside(self, path: &Path) -> std::io::Result<TempPath> {
        match self {
            #[cfg(target_os = "linux")]
            Unnamed::Nameless(file) => nameless::beside(file, path),
            Unnamed::Named(file) => Ok(file.into_temp_path()),
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
    use tempfile::TempPath;

    /// One; None where there are none of that kind.
    pub(super) fn file(folder: &Path) -> Option<File> {
        let how = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        open(folder, how, Mode::from_raw_mode(0o666)).ok().map(File::from)
    }

    /// Gives one a name that nobody has.
    pub(super) fn link(file: &File, path: &Path) -> Result<()> {
        let own = format!("/proc/self/fd/{}", file.as_raw_fd());
        Ok(linkat(CWD, &*own, CWD, path, AtFlags::SYMLINK_FOLLOW)?)
    }

    /// Gives one a name beside that of another file.
    pub(super) fn beside(mut file: File, path: &Path) -> Result<TempPath> {
        let linked = readable().make_in(folder_of(path), |at| link(&file, at));
        if let Ok(named) = linked {
            return Ok(named.into_temp_path());
        }
        // Without /proc it cannot be named, only copied.
        let mut copy = readable().tempfile_in(folder_of(path))?;
        file.rewind()?;
        std::io::copy(&mut file, copy.as_file_mut())?;
        copy.as_file().sync_all()?;
        Ok(copy.into_temp_path())
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn unwritable(path: &Path, error: &std::io::Error) -> Error {
    // A temporary name is nobody's business: the cause alone is told.
    let whole = error.to_string();
    let cause = whole.split(" at path \"").next().unwrap_or(&whole);
    Error::input(format!("{}: cannot be written: {cause}", path.display()))
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

/// Refuses a name that promises another format than the CSV that is written.
pub fn check_csv(path: &Path) -> Result<()> {
    let ending = path.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default();
    if OTHER_FORMATS.contains(&ending.as_str()) {
        Err(Error::config(format!(
            "{}: what is written there is CSV, which .{ending} does not say; expected a name that ends in \
             .csv",
            path.display()
        )))
    } else {
        Ok(())
    }
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
        keep(vec![self])
    }
}

/// Held while files get their names.
static NAMING: Mutex<()> = Mutex::new(());

/// Waits until no file is between two names: who then ends the program leaves all of them whole, and
/// nothing beside them.
pub fn undisturbed() -> MutexGuard<'static, ()> {
    NAMING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Gives files their names: all of them, or none. What cannot be taken back, because it was moved onto
/// another file or because nothing can be removed either, stays, whole; the error says so.
pub fn keep(files: Vec<Pending>) -> Result<()> {
    let _undisturbed = undisturbed();
    let mut named = Named::default();
    let Err((path, error)) = named.all(files) else { return Ok(()) };
    let error = unwritable(&path, &error);
    let stays = named.taken_back();
    Err(if stays.is_empty() {
        error
    } else {
        Error::input(format!("{error}; already written: {}", stays.join(", ")))
    })
}

/// Files that got their names.
#[derive(Default)]
struct Named {
    /// Those that were not there before.
    fresh: Vec<PathBuf>,
    /// Those in the place of others.
    moved: Vec<PathBuf>,
}

impl Named {
    /// Names all; the first that cannot be named, and why.
    fn all(&mut self, files: Vec<Pending>) -> std::result::Result<(), (PathBuf, std::io::Error)> {
        let mut moves = Vec::new();
        for Pending { file, path } in files {
            // What takes no other file's place can be taken back: those come first.
            if file.takes(&path) {
                self.fresh.push(path);
                continue;
            }
            match file.beside(&path) {
                Ok(beside) => moves.push((beside, path)),
                Err(error) => return Err((path, error)),
            }
        }
        for (beside, path) in moves {
            if let Err(error) = beside.persist(&path) {
                return Err((path, error.error));
            }
            self.moved.push(path);
        }
        Ok(())
    }

    /// Removes what was not there before; what stays.
    fn taken_back(self) -> Vec<String> {
        let fresh = self.fresh.into_iter().filter(|path| std::fs::remove_file(path).is_err());
        fresh.chain(self.moved).map(|path| path.display().to_string()).collect()
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
