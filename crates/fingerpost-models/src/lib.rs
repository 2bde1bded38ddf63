//! The outside: embedding models that run in process or answer over HTTP, and language models that
//! answer over HTTP.
//!
//! ```text
//! catalog ──► pull ──► folder ──► LocalModel (ONNX) ─┐
//!                            └──► StaticModel ───────┼──► Cached ──► Vectors
//!                    a server ──► HttpEmbedder ──────┘
//! ```
//!
//! Each is an [`Embedder`](fingerpost::embedding::Embedder); [`Cached`] wraps any of them.
//! [`HttpChat`] is a [`Chat`](fingerpost::chat::Chat), and [`BatchClient`] has many prompts answered at
//! leisure. A [`campaign`] asks a model for much, and goes on where it was ended. There is no async here:
//! threads that wait are simpler than a runtime.

mod cache;
pub mod campaign;
pub mod catalog;
mod chat;
mod engine;
mod http;
mod local;
mod prices;
mod pull;
mod retry;
mod settings;
mod static_model;
mod window;
mod wire;
mod work;

pub use cache::{Cached, Keeps};
pub use chat::batch::{self, BatchClient, BatchState};
pub use chat::{Api, ChatConfig, Dialect, Format, HttpChat};
pub use engine::EngineKind;
pub use http::{Call, HttpConfig, HttpEmbedder, InputType};
pub use local::{LocalModel, open};
pub use prices::{KnownPrice, PriceError, Prices};
pub use pull::{Origin, PullError, Store};
pub use retry::{Retry, RetryConfig};
pub use settings::{ModelSettings, SETTINGS_FILE, SettingsError};
pub use static_model::StaticModel;
pub use window::fit_window;
