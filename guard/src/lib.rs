//! The rules of Onceover: what may be sent, what was already done, what is uncertain, what has changed.
