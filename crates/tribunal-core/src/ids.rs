//! Names of things: small ordered newtypes. There is never a bare string or number where two kinds could be confused.
//!
//! They are ordered and hashable because machines keep everything in ordered maps: a fold of the same events must
//! visit things in the same order on every machine.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::sync::Arc;

macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        // Shared text: ids are cloned into every effect, event and want of a turn.
        pub struct $name(Arc<str>);

        impl $name {
            /// Makes the name from text.
            pub fn new(text: impl AsRef<str>) -> Self {
                Self(Arc::from(text.as_ref()))
            }
            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                // `pad` honours the width of a column.
                f.pad(&self.0)
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }
        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self::new(text)
            }
        }
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.serialize_str(&self.0)
            }
        }
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                Ok(Self(Arc::from(String::deserialize(d)?)))
            }
        }
    };
}

name!(
    /// One reviewer of a panel.
    Reviewer
);
name!(
    /// One deterministic check or tool.
    Check
);
name!(
    /// The agent that makes or revises a subject.
    Builder
);
name!(
    /// One plan of the phase, `01-02`.
    PlanId
);

// Plans are looked up by the text of an effect's owner, without making an id of it.
impl std::borrow::Borrow<str> for PlanId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

name!(
    /// One loop of the run, `01-02/task-1.3`.
    LoopId
);
name!(
    /// Digest of everything the policy judges.
    ///
    /// Work with the same digest is the same work to a reviewer, and an approval holds for one digest only.
    Revision
);

name!(
    /// Which machine, or which lane of the run, an effect belongs to. Plans begin with a digit and so sort before the
    /// run itself.
    Of
);

impl Of {
    /// The run itself, as the owner of an effect.
    pub fn run() -> Self {
        Of::new("run")
    }
}

/// Milliseconds since the epoch. The core never reads a clock: a time comes in with a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Time(pub u64);

/// The id of one finding, for ever: `F-12`. It is given once and never computed from the finding's content.
///
/// An id from the content would change when a reviewer words the same fault differently, and the history of the
/// finding would be lost.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FindingId(pub u32);

// As text, because it is the key of JSON objects too.
impl Serialize for FindingId {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for FindingId {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = String::deserialize(d)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom(format!("{text:?} is not a finding id")))
    }
}

impl FindingId {
    /// Reads `F-12`, `f12` or `12`.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.trim().trim_start_matches(['F', 'f']).trim_start_matches('-');
        // `parse` below would also accept a sign.
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        digits.parse().ok().map(Self)
    }
}

impl fmt::Display for FindingId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("F-{}", self.0))
    }
}

impl fmt::Debug for FindingId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "F-{}", self.0)
    }
}
