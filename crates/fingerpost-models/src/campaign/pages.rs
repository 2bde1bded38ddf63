//! How does a model write the pages of many neighborhoods?

use std::sync::atomic::{AtomicUsize, Ordering};

use fingerpost::atlas::{Outbox, Spent};
use fingerpost::chat::{Chat, ChatError};
use fingerpost::page::llm::{LlmConfig, LlmWriter, Neighborhood, Outcome, Wanted, Written, check};
use fingerpost::skill::SkillId;

use super::{Campaign, CampaignError, Event, Pass};

/// Pages to be written.
pub struct PageWork<'a> {
    /// By whom.
    pub campaign: &'a Campaign<'a>,
    /// How the model is asked.
    pub config: LlmConfig,
    /// Of which skills.
    pub neighborhoods: &'a [Neighborhood<'a>],
    /// Hears what became of each, perhaps more than once: every round reads the ledger's answers
    /// from the start.
    pub on_page: &'a (dyn Fn(&SkillId, &Written) + Sync),
}

impl PageWork<'_> {
    /// How many pages are wanted.
    pub fn wanted(&self) -> usize {
        let wanted = self.neighborhoods.iter().flat_map(|neighborhood| &neighborhood.wanted);
        wanted.filter(|wanted| !matches!(wanted, Wanted::Nothing(_))).count()
    }

    /// Has a server write them, as far as it and the limits allow.
    pub fn run(&self) -> Result<(Outcome, Spent), CampaignError> {
        self.campaign.with_chat(|chat, spent| {
            let (all, done) = (self.wanted(), AtomicUsize::new(0));
            let outcome = self.write(chat, self.config.concurrency, &|skill, written| {
                (self.on_page)(skill, written);
                if *written != Written::Pending {
                    let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                    self.campaign.tell(Event::Progress { done, all, spent: spent() });
                }
            });
            (outcome, spent())
        })
    }

    /// The pages that the ledger's answers give, and what it cannot answer.
    pub fn pass(&self) -> Result<Pass<Outcome>, CampaignError> {
        let outbox = Outbox::new(self.campaign.model(), &self.campaign.ledger);
        let outcome = self.write(&outbox, 1, self.on_page);
        match outcome.stopped {
            None | Some(ChatError::Cancelled) => {
                let known = outbox.known();
                Ok(Pass { outcome, waiting: outbox.into_waiting(), known })
            }
            Some(error) => Err(error.into()),
        }
    }

    fn write(
        &self,
        chat: &dyn Chat,
        concurrency: usize,
        on_page: &(dyn Fn(&SkillId, &Written) + Sync),
    ) -> Outcome {
        let config = LlmConfig { concurrency, ..self.config.clone() };
        let cancel = &self.campaign.cancel;
        let writer = LlmWriter { chat, config: &config, check: &check, cancel };
        writer.write(self.neighborhoods, on_page)
    }
}
