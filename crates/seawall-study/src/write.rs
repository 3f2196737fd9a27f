//! Output files, written whole or not at all.

use seawall::{Error, Result};
use std::io::{BufWriter, Write};
use std::path::Path;

/// Writes a file through `fill`: to a nameless neighbour first, which takes the file's name only
/// when it is complete.
pub fn whole(path: &Path, fill: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) -> Result<()> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let bad = |error: std::io::Error| {
        Error::input(format!("{}: cannot be written: {error}", path.display()))
    };
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(bad)?;
    let mut buffer = BufWriter::new(file.as_file_mut());
    fill(&mut buffer).and_then(|()| buffer.flush()).map_err(bad)?;
    drop(buffer);
    file.as_file().sync_all().map_err(bad)?;
    #[cfg(unix)]
    readable_by_all(&file).map_err(bad)?;
    file.persist(path).map_err(|e| bad(e.error))?;
    Ok(())
}

/// Temporary files are private; an output file is as readable as any other.
#[cfg(unix)]
fn readable_by_all(file: &tempfile::NamedTempFile) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.as_file().set_permissions(std::fs::Permissions::from_mode(0o644))
}

/// A field of a CSV file: quoted where it must be.
pub fn csv_field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
