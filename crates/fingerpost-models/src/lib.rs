//! The outside: embedding models that run in process or answer over HTTP.
//!
//! ```text
//! catalog ──► pull ──► folder ──► LocalModel (ONNX) ─┐
//!                            └──► StaticModel ───────┼──► Cached ──► Vectors
//!                    a server ──► HttpEmbedder ──────┘
//! ```
//!
//! Each is an [`Embedder`](fingerpost::embedding::Embedder); [`Cached`] wraps any of them. There
//! is no async here: a run embeds one library, and threads that wait are simpler than a runtime.

mod cache;
pub mod catalog;
mod engine;
mod http;
mod local;
mod pull;
mod retry;
mod settings;
mod static_model;
mod window;
mod work;

pub use cache::{Cached, Keeps};
pub use engine::EngineKind;
pub use http::{Call, HttpConfig, HttpEmbedder, InputType};
pub use local::{LocalModel, open};
pub use pull::{Origin, PullError, Store};
pub use retry::RetryConfig;
pub use settings::{ModelSettings, SETTINGS_FILE, SettingsError};
pub use static_model::StaticModel;
pub use window::fit_window;
