//! Readers of other tools' files: each makes runs of the record.
