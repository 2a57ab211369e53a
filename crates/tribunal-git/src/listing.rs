//! Finds what stands at a path of a commit.
//!
//! Git answers `COMMIT:PATH` by unpacking and reading each folder on the way from its beginning, for every question.
//! Asking for all files of a folder would take time quadratic in their number. So folders are read once and remembered,
//! and a file is asked for by its own id.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::{GitError, GitPath, Oid, Repo};
use tribunal_process::lock;

/// How many bytes of folders are remembered.
const BYTES_MAX: usize = 16 << 20;
const DIRECTORY: &[u8] = b"40000";
/// The same mode as trees written long ago have it.
const DIRECTORY_PADDED: &[u8] = b"040000";
const SUBMODULE: &[u8] = b"160000";

/// Folders read lately. An id names its bytes for ever, so no entry can be out of date.
#[derive(Default)]
pub(crate) struct Listings {
    read: BTreeMap<Oid, Arc<Listing>>,
    bytes: usize,
}

/// One tree object, with the offsets of its entries in the order of their names.
struct Listing {
    bytes: Vec<u8>,
    places: Vec<u32>,
    id_len: usize,
}

/// What a tree says of one name.
struct Found<'a> {
    mode: &'a [u8],
    name: &'a [u8],
    id: &'a [u8],
}

impl Found<'_> {
    fn is_dir(&self) -> bool {
        self.mode == DIRECTORY || self.mode == DIRECTORY_PADDED
    }
}

impl Listing {
    /// Reads a tree object; `None` when the bytes are not those of a tree.
    fn of(bytes: Vec<u8>, id_len: usize) -> Option<Listing> {
        let mut listing = Listing { bytes, places: Vec::new(), id_len };
        let mut at = 0;
        while at < listing.bytes.len() {
            let found = listing.at(at)?;
            let len = found.mode.len() + found.name.len() + 2 + id_len;
            listing.places.push(u32::try_from(at).ok()?);
            at += len;
        }
        let mut places = std::mem::take(&mut listing.places);
        // Git sorts folders as if their names ended with a slash, and nothing proves that git wrote this tree.
        places.sort_by(|a, b| listing.name(*a).cmp(listing.name(*b)));
        places.shrink_to_fit();
        Some(Listing { places, ..listing })
    }

    fn at(&self, at: usize) -> Option<Found<'_>> {
        let bytes = self.bytes.get(at..)?;
        let space = bytes.iter().position(|byte| *byte == b' ')?;
        let rest = bytes.get(space + 1..)?;
        let nul = rest.iter().position(|byte| *byte == 0)?;
        let id = rest.get(nul + 1..nul + 1 + self.id_len)?;
        Some(Found { mode: bytes.get(..space)?, name: rest.get(..nul)?, id })
    }

    fn name(&self, place: u32) -> &[u8] {
        self.at(place as usize).map_or(&[], |found| found.name)
    }

    fn find(&self, name: &[u8]) -> Option<Found<'_>> {
        let found = self.places.binary_search_by(|place| self.name(*place).cmp(name)).ok()?;
        self.at(*self.places.get(found)? as usize)
    }

    fn size(&self) -> usize {
        self.bytes.len() + self.places.len() * size_of::<u32>()
    }
}

impl Repo {
    /// The object of a file or link at a path of a commit or tree, if there is one.
    ///
    /// Git is asked once for each folder on the way, and not again while the folder is remembered.
    pub(crate) fn blob_at(&self, at: &Oid, path: &GitPath) -> Result<Option<Oid>, GitError> {
        let Some(mut folder) = self.root_of(at)? else { return Ok(None) };
        let mut parts = path.as_bytes().split(|byte| *byte == b'/').peekable();
        while let Some(part) = parts.next() {
            let listing = self.listing(&folder)?;
            let Some(found) = listing.find(part) else { return Ok(None) };
            match (found.is_dir(), parts.peek().is_some()) {
                (true, true) => folder = Oid::from_raw(found.id),
                // A submodule's id is a commit of another repository, so there is no object to read here.
                (false, false) if found.mode != SUBMODULE => return Ok(Some(Oid::from_raw(found.id))),
                _ => return Ok(None),
            }
        }
        Ok(None)
    }

    /// The tree of a commit, or the tree itself; `None` where there is no such object.
    ///
    /// A caller that asks about an absent commit gets "no such file", which is what it would conclude anyway.
    fn root_of(&self, at: &Oid) -> Result<Option<Oid>, GitError> {
        // A tree that is asked about a second time is not read again just to find out that it is not a commit.
        if lock(&self.inner.listings).read.contains_key(at) {
            return Ok(Some(at.clone()));
        }
        let root = self.peeled(at)?;
        match self.listing(&root) {
            Ok(_) => Ok(Some(root)),
            Err(GitError::NoSuch { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn listing(&self, tree: &Oid) -> Result<Arc<Listing>, GitError> {
        let known = || lock(&self.inner.listings);
        if let Some(listing) = known().read.get(tree) {
            return Ok(Arc::clone(listing));
        }
        let listing = Listing::of(self.raw_tree(tree)?, tree.as_str().len() / 2);
        let listing = Arc::new(listing.ok_or_else(|| GitError::odd(format!("tree {tree} cannot be read")))?);
        let mut known = known();
        if known.bytes + listing.size() > BYTES_MAX {
            *known = Listings::default();
        }
        // Kept even if it alone exceeds the limit: such a large folder is exactly what must not be read for each of its
        // files.
        if known.read.insert(tree.clone(), Arc::clone(&listing)).is_none() {
            known.bytes += listing.size();
        }
        Ok(listing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(entries: &[(&str, &str)]) -> Vec<u8> {
        let entry = |(mode, name): &(&str, &str)| [format!("{mode} {name}\0").as_bytes(), &[7; 20]].concat();
        entries.iter().flat_map(entry).collect()
    }

    #[test]
    fn names_are_found_in_whatever_order_they_stand() {
        // Git's own order first, in which `d` stands behind `d-1`; then one that is nobody's.
        let orders: [&[(&str, &str)]; 2] = [
            &[("100644", "d-1"), ("100755", "d.x"), ("40000", "d"), ("120000", "d0")],
            &[("40000", "d"), ("120000", "d0"), ("100644", "d-1"), ("100755", "d.x")],
        ];
        for entries in orders {
            let listing = Listing::of(tree(entries), 20).expect("reads");
            for (mode, name) in entries {
                let found = listing.find(name.as_bytes()).expect("is there");
                assert_eq!(found.mode, mode.as_bytes(), "{name}");
                assert_eq!(found.is_dir(), *name == "d");
            }
            assert!(listing.find(b"d-").is_none() && listing.find(b"").is_none());
        }
    }

    #[test]
    fn half_a_tree_is_no_tree() {
        let whole = tree(&[("100644", "a"), ("40000", "d")]);
        assert!(Listing::of(whole.clone(), 20).is_some_and(|listing| listing.find(b"d").is_some()));
        for len in (1..whole.len()).filter(|len| *len != 29) {
            assert!(Listing::of(whole[..len].to_vec(), 20).is_none(), "{len}");
        }
    }
}
