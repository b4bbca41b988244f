//! What pages are made of. Each has its style beside its name in `style/`.

pub(crate) mod age;
pub(crate) mod awaited;
pub(crate) mod badge;
pub(crate) mod banner;
pub(crate) mod changes;
pub(crate) mod chart;
pub(crate) mod copy;
pub(crate) mod decision;
pub(crate) mod destinations;
pub(crate) mod entrance;
pub(crate) mod facts;
pub(crate) mod fault;
pub(crate) mod frame;
pub(crate) mod fresh;
pub(crate) mod guide;
pub(crate) mod heading;
pub(crate) mod icon;
pub(crate) mod money;
pub(crate) mod people;
pub(crate) mod plain;
pub(crate) mod recovery;
pub(crate) mod search;
pub(crate) mod theme;
pub(crate) mod timeline;
pub(crate) mod tokens;
pub(crate) mod workflows;
