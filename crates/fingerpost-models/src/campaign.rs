//! How is a model asked for much, on somebody's money, so that it may end at any time?
//!
//! ```text
//! Pages, Choices ──► a pass: what the ledger can answer ──► waiting prompts ──► Plan, lines, a batch
//!       └──────────► a run: a server that answers at once, within limits
//! ```
//!
//! A [`Campaign`] is one model with the ledger of what it is asked, the limits and the price. Whatever
//! way answers come, each is in the ledger before it is used; what was answered is kept, and the same
//! work started again goes on from there. What happens meanwhile is told as an [`Event`]: nothing is
//! printed here.

mod choices;
mod errand;
mod pages;
mod plan;

use std::convert::Infallible;
use std::fmt::{Debug, Display};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fingerpost::atlas::{Budget, Ledger, Recorded, Spent};
use fingerpost::chat::{Chat, ChatError, Prompt, Replay};
use fingerpost::store::StoreError;

pub use self::choices::{Answered, Choices, Choosing, Ran, Said};
pub use self::errand::{AnswerFile, Batched, Errand, Ingest, Ingested, Lines, RejectedLine};
pub use self::pages::PageWork;
pub use self::plan::Plan;
use crate::chat::{ChatConfig, Dialect, HttpChat};
use crate::prices::KnownPrice;
use crate::retry::Retry;

/// What happens while a model is asked.
#[derive(Debug)]
pub enum Event<'e> {
    /// So many of what is wanted are done, and what was spent by now.
    Progress {
        /// Done.
        done: usize,
        /// Wanted.
        all: usize,
        /// For so much.
        spent: Spent,
    },
    /// A request failed and is made again.
    Retry(&'e Retry),
    /// A service took a batch.
    Submitted {
        /// The service's name of it.
        batch: &'e str,
        /// Prompts in it.
        prompts: usize,
    },
    /// A batch is waited for.
    UnderWay {
        /// The service's name of it.
        batch: &'e str,
        /// Prompts that are done.
        done: u64,
        /// Prompts in all.
        all: u64,
        /// How long it is waited for by now.
        elapsed: Duration,
    },
    /// The answers of a batch are here.
    Fetched {
        /// The service's name of it.
        batch: &'e str,
        /// Prompts that came back without one.
        unanswered: usize,
    },
}

/// Why work with a model failed; what it ended with instead of an answer is part of its outcome.
#[derive(Debug, thiserror::Error)]
pub enum CampaignError<E: Debug + Display = Infallible> {
    /// The model cannot be asked.
    #[error(transparent)]
    Chat(#[from] ChatError),
    /// The ledger cannot be used.
    #[error(transparent)]
    Ledger(#[from] StoreError),
    /// The work itself failed, whoever answers.
    #[error("{0}")]
    Work(E),
}

impl CampaignError {
    /// The same for work that can fail.
    pub fn widen<E: Debug + Display>(self) -> CampaignError<E> {
        match self {
            Self::Chat(error) => CampaignError::Chat(error),
            Self::Ledger(error) => CampaignError::Ledger(error),
            Self::Work(never) => match never {},
        }
    }
}

/// A model, the ledger of what it is asked, and what may be spent.
pub struct Campaign<'a> {
    config: ChatConfig,
    price: Option<KnownPrice>,
    budget: Budget,
    ledger: Ledger,
    replay: Option<Replay>,
    cancel: Arc<AtomicBool>,
    on_event: Box<dyn Fn(Event<'_>) + Send + Sync + 'a>,
}

impl<'a> Campaign<'a> {
    /// Decides everything; nothing is sent. A limit on cost needs a price. Setting `cancel` ends the
    /// work after the calls under way.
    pub fn new(
        config: ChatConfig,
        price: Option<KnownPrice>,
        budget: Budget,
        ledger: Ledger,
        cancel: Arc<AtomicBool>,
        on_event: impl Fn(Event<'_>) + Send + Sync + 'a,
    ) -> Result<Self, ChatError> {
        let budget = Budget::new(budget.max_cost, budget.max_calls)?;
        let on_event = Box::new(on_event);
        Ok(Self { config, price, budget, ledger, replay: None, cancel, on_event })
    }

    /// Takes all answers from a recording.
    #[must_use]
    pub fn replaying(mut self, replay: Replay) -> Self {
        self.replay = Some(replay);
        self
    }

    /// The model's name.
    pub fn model(&self) -> &str {
        &self.config.model
    }

    /// What it costs, where that is known.
    pub fn price(&self) -> Option<KnownPrice> {
        self.price
    }

    /// Works with the model, or with a recording of it; the second argument says what was spent so
    /// far. Every answer is in the ledger before it is used, and within the limits.
    pub fn with_chat<T>(
        &self,
        work: impl FnOnce(&dyn Chat, &(dyn Fn() -> Spent + Sync)) -> T,
    ) -> Result<T, CampaignError> {
        if let Some(replay) = &self.replay {
            // On disk already, and paid for by somebody else: nothing for the ledger.
            return Ok(work(replay, &Spent::default));
        }
        let chat = self.chat()?;
        let price = self.price.map(|price| price.single);
        let recorded = Recorded::new(&chat, &self.ledger, self.endpoint(), price, self.budget);
        Ok(work(&recorded, &|| recorded.spent()))
    }

    /// Works with the model itself and the ledger, for whoever keeps limits and books in another way: many
    /// machines together.
    pub fn with_model<T>(
        &self,
        work: impl FnOnce(&dyn Chat, &Ledger) -> T,
    ) -> Result<T, CampaignError> {
        Ok(work(&self.chat()?, &self.ledger))
    }

    /// Set by whoever wants an end.
    pub fn cancel(&self) -> &AtomicBool {
        &self.cancel
    }

    /// The model itself.
    fn chat(&self) -> Result<HttpChat<'_>, CampaignError> {
        let chat = HttpChat::new(self.config.clone(), Arc::clone(&self.cancel))?;
        let chat = chat.on_retry(|retry| self.tell(Event::Retry(retry)));
        Ok(chat.remembering(self.dialect()?, |dialect| {
            let text = serde_json::to_string(&dialect).expect("plain data");
            // What cannot be remembered is learned again next time.
            let _ = self.ledger.learn(&self.endpoint(), self.model(), &text);
        }))
    }

    /// How the server is known to want its requests.
    fn dialect(&self) -> Result<Dialect, StoreError> {
        let known = self.ledger.dialect(&self.endpoint(), self.model())?;
        Ok(known.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default())
    }

    /// The server's address, as it may be written down.
    pub fn endpoint(&self) -> String {
        self.config.endpoint()
    }

    fn tell(&self, event: Event<'_>) {
        (self.on_event)(event);
    }

    fn is_cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }
}

/// Work done with the answers there are.
#[derive(Debug)]
pub struct Pass<T> {
    /// What came of it.
    pub outcome: T,
    /// What the ledger cannot answer, each prompt once with its key.
    pub waiting: Vec<(String, Prompt)>,
    /// How many answers it had.
    pub known: u64,
}
