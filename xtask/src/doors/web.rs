//! Is the page in the program the one in `web/src`, and does it hold in a real browser?

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use super::kit::Kit;
use super::well;

/// What a visitor loads at most, packed.
const MOST: u64 = 150_000;

/// The committed files are what their sources give, byte for byte, and small.
pub(super) fn fresh(kit: &Kit) -> anyhow::Result<()> {
    let web = kit.root.join("web");
    let built = kit.folder.join("page");
    let run = |program: &str, arguments: &[&str]| {
        let mut command = kit.node()?;
        command.current_dir(&web).arg(web.join("node_modules").join(program)).args(arguments);
        well(&mut command)
    };
    run("svelte-check/bin/svelte-check", &["--tsconfig", "./tsconfig.json", "--fail-on-warnings"])?;
    let folder = built.display().to_string();
    run(
        "vite/bin/vite.js",
        &["build", "--logLevel", "warn", "--emptyOutDir", "--outDir", &folder],
    )?;
    let (committed, built) = (files(&web.join("dist"))?, files(&built)?);
    if committed != built {
        let names: Vec<String> = committed
            .keys()
            .chain(built.keys())
            .filter(|name| committed.get(*name) != built.get(*name))
            .map(|name| name.display().to_string())
            .collect();
        bail!("web/dist is not what web/src gives ({}); `npm run build` in web", names.join(", "));
    }
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    committed.values().try_for_each(|bytes| std::io::Write::write_all(&mut packed, bytes))?;
    let size = packed.finish()?.len() as u64;
    if size > MOST {
        bail!("web/dist takes {size} bytes packed, more than {MOST}");
    }
    eprintln!("  web/dist is fresh; {} kB packed", size / 1000);
    Ok(())
}

/// Screens, flows and hostile skills in Chromium, against our server.
pub(super) fn browser(kit: &Kit) -> anyhow::Result<()> {
    let tests = kit.root.join("web/tests");
    let found = fs::read_dir(&tests).with_context(|| format!("cannot read {}", tests.display()))?;
    let mut found: Vec<PathBuf> =
        found.map(|file| Ok(file?.path())).collect::<std::io::Result<_>>()?;
    found.retain(|file| file.to_string_lossy().ends_with(".test.mjs"));
    found.sort();
    if found.is_empty() {
        bail!("{} has no test", tests.display());
    }
    let mut command = kit.node()?;
    command.current_dir(&kit.root).arg("--test").args(found).env("FINGERPOST_BIN", &kit.program);
    well(&mut command)
}

/// All files below a folder, by their names in it.
fn files(folder: &Path) -> anyhow::Result<BTreeMap<PathBuf, Vec<u8>>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in
            fs::read_dir(&next).with_context(|| format!("cannot read {}", next.display()))?
        {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.insert(path.strip_prefix(folder)?.to_path_buf(), fs::read(&path)?);
            }
        }
    }
    Ok(files)
}
