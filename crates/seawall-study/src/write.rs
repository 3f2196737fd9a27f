//! Output files, written whole or not at all.

use seawall::{Error, Result};
use std::fmt::Display;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// A file that is complete but does not have its name yet.
pub struct Pending {
    file: NamedTempFile,
    path: PathBuf,
}

/// Where an output would really be written: links are followed. Refuses what is not a regular
/// file, a folder that is not there, and the file that is being read.
pub fn destination(path: &Path, input: &Path) -> Result<PathBuf> {
    let bad =
        |what: &dyn Display| Error::input(format!("{}: cannot be written: {what}", path.display()));
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
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

/// Fills a nameless neighbour of `path` through `fill`.
pub fn prepare(
    path: PathBuf,
    fill: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<Pending> {
    let write = || -> std::io::Result<NamedTempFile> {
        let folder = path.parent().unwrap_or(Path::new("."));
        let mut builder = tempfile::Builder::new();
        // As readable as any new file, rather than private as temporary ones are.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let mut file = builder.tempfile_in(folder)?;
        let mut buffer = BufWriter::new(file.as_file_mut());
        fill(&mut buffer)?;
        buffer.flush()?;
        drop(buffer);
        file.as_file().sync_all()?;
        Ok(file)
    };
    match write() {
        Ok(file) => Ok(Pending { file, path }),
        Err(error) => Err(Error::input(format!("{}: cannot be written: {error}", path.display()))),
    }
}

impl Pending {
    /// Gives the file its name.
    pub fn keep(self) -> Result<()> {
        let Pending { file, path } = self;
        file.persist(&path).map_err(|e| {
            Error::input(format!("{}: cannot be written: {}", path.display(), e.error))
        })?;
        Ok(())
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
