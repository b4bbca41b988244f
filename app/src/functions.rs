//! What pages and forms ask of the server: who asks, ask the guard, map. One function a file.

pub(crate) mod add_person;
#[cfg(feature = "ssr")]
mod administrator;
pub(crate) mod choose_theme;
pub(crate) mod claim;
pub(crate) mod compare_versions;
pub(crate) mod confirm_run;
pub(crate) mod create_token;
pub(crate) mod decide_conflict;
pub(crate) mod drop_view;
pub(crate) mod list_conflicts;
pub(crate) mod list_operations;
pub(crate) mod list_unknown;
pub(crate) mod list_workflows;
pub(crate) mod look_up_now;
pub(crate) mod propose_run;
pub(crate) mod propose_verification;
pub(crate) mod read_conflict;
pub(crate) mod read_entrance;
pub(crate) mod read_frame;
pub(crate) mod read_incidents;
pub(crate) mod read_operation;
pub(crate) mod read_overview;
pub(crate) mod read_run;
pub(crate) mod read_settings;
pub(crate) mod read_views;
pub(crate) mod resolve;
pub(crate) mod revoke_token;
pub(crate) mod save_view;
pub(crate) mod test_lookup;
