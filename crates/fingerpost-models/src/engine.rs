//! What runs an ONNX graph?
//!
//! `rten`, pure Rust, by default; ONNX Runtime as a shared library with the feature `ort`. Either
//! way one text runs on one thread, alone: no padding is computed, and a text's vector depends on
//! the text and nothing else. In a batch it would not, because 8-bit models scale their
//! activations by the largest value in the whole batch.

use std::sync::Arc;
#[cfg(feature = "ort")]
use std::sync::{Mutex, OnceLock};

use rten::{Model, ModelOptions, NodeId, RunOptions, ThreadPool, ValueOrView};
use rten_tensor::NdTensor;
use rten_tensor::prelude::*;

/// Which engine to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EngineKind {
    /// Pure Rust, always there.
    #[default]
    Rten,
    /// ONNX Runtime, from the shared library that `ORT_DYLIB_PATH` names.
    #[cfg(feature = "ort")]
    Ort,
}

impl EngineKind {
    /// ONNX Runtime where it was built in and `ORT_DYLIB_PATH` names it, else rten.
    pub fn of_process() -> Self {
        #[cfg(feature = "ort")]
        if std::env::var_os("ORT_DYLIB_PATH").is_some() {
            return Self::Ort;
        }
        Self::Rten
    }

    /// How a profile names it: engines differ in the last digits, 8-bit models in the second.
    pub fn label(self) -> &'static str {
        match self {
            Self::Rten => "rten 0.27",
            #[cfg(feature = "ort")]
            Self::Ort => "ort 2.0",
        }
    }
}

/// A loaded graph.
pub(crate) enum Engine {
    Rten(Box<Rten>),
    #[cfg(feature = "ort")]
    Ort(Ort),
}

/// What came out of a graph: rows of numbers, one a token, or only one.
pub(crate) struct Output {
    pub(crate) values: Vec<f32>,
    /// Length of a row.
    pub(crate) columns: usize,
}

impl Engine {
    /// Loads a graph for so many workers.
    pub(crate) fn load(
        kind: EngineKind,
        bytes: Vec<u8>,
        output: Option<&str>,
        workers: usize,
    ) -> Result<Self, String> {
        match kind {
            EngineKind::Rten => {
                Rten::load(bytes, output, workers).map(|engine| Self::Rten(Box::new(engine)))
            }
            #[cfg(feature = "ort")]
            EngineKind::Ort => Ort::load(&bytes, output, workers).map(Self::Ort),
        }
    }

    /// Runs one text's tokens.
    pub(crate) fn run(&self, worker: usize, tokens: &[u32]) -> Result<Output, String> {
        match self {
            Self::Rten(engine) => engine.run(worker, tokens),
            #[cfg(feature = "ort")]
            Self::Ort(engine) => engine.run(worker, tokens),
        }
    }
}

/// What a graph may ask for; anything else is not an embedding model we know.
#[derive(Clone, Copy)]
enum Input {
    Tokens,
    Mask,
    Types,
    Positions,
}

impl Input {
    fn of(name: &str) -> Result<Self, String> {
        match name {
            "input_ids" => Ok(Self::Tokens),
            "attention_mask" => Ok(Self::Mask),
            "token_type_ids" => Ok(Self::Types),
            "position_ids" => Ok(Self::Positions),
            other => Err(format!(
                "the graph wants an input '{other}'; export it as a plain encoder (input_ids, attention_mask)"
            )),
        }
    }

    fn value<T>(self, tokens: &[u32], number: impl Fn(u32) -> T) -> Vec<T> {
        let positions = 0..u32::try_from(tokens.len()).expect("a window is small");
        match self {
            Self::Tokens => tokens.iter().map(|&token| number(token)).collect(),
            Self::Mask => positions.map(|_| number(1)).collect(),
            Self::Types => positions.map(|_| number(0)).collect(),
            Self::Positions => positions.map(number).collect(),
        }
    }
}

/// The output asked for among those there are.
fn choose_output<'a>(names: &[&'a str], wanted: Option<&str>) -> Result<&'a str, String> {
    let found = match wanted {
        Some(wanted) => names.iter().find(|&&name| name == wanted),
        None => names.iter().find(|&&name| name == "last_hidden_state").or(names.first()),
    };
    found.copied().ok_or_else(|| {
        format!("the graph has no output '{}', only {}", wanted.unwrap_or(""), names.join(", "))
    })
}

pub(crate) struct Rten {
    model: Model,
    inputs: Vec<(NodeId, Input)>,
    output: NodeId,
    /// A pool of one thread for each worker: measured no slower than all threads on one text, and
    /// the sums are the same whatever the number of workers.
    pools: Vec<Arc<ThreadPool>>,
}

impl Rten {
    fn load(bytes: Vec<u8>, output: Option<&str>, workers: usize) -> Result<Self, String> {
        let mut options = ModelOptions::with_all_ops();
        options.prepack_weights(true);
        let model = options.load(bytes).map_err(|error| error.to_string())?;
        let name = |id: NodeId| model.node_info(id).and_then(|info| info.name()).unwrap_or("");
        let inputs = model.input_ids().iter().map(|&id| Ok((id, Input::of(name(id))?)));
        let inputs = inputs.collect::<Result<Vec<_>, String>>()?;
        let names: Vec<&str> = model.output_ids().iter().map(|&id| name(id)).collect();
        let output = choose_output(&names, output)?;
        let output = model.node_id(output).map_err(|error| error.to_string())?;
        let pools = (0..workers).map(|_| Arc::new(ThreadPool::with_num_threads(1))).collect();
        Ok(Self { model, inputs, output, pools })
    }

    fn run(&self, worker: usize, tokens: &[u32]) -> Result<Output, String> {
        let inputs = self.inputs.iter().map(|&(id, input)| {
            let values = input.value(tokens, |number| number as i32);
            (id, ValueOrView::from(NdTensor::from_data([1, tokens.len()], values)))
        });
        let mut options = RunOptions::default();
        options.thread_pool = Some(Arc::clone(&self.pools[worker % self.pools.len()]));
        let [value] = self
            .model
            .run_n(inputs.collect(), [self.output], Some(options))
            .map_err(|error| error.to_string())?;
        let tensor = value.into_tensor::<f32>().ok_or("the graph's output is not of f32")?;
        let columns = tensor.shape().last().copied().unwrap_or(0);
        Ok(Output { values: tensor.into_data(), columns })
    }
}

#[cfg(feature = "ort")]
pub(crate) struct Ort {
    /// A session runs one text at a time; each holds its own copy of the weights.
    sessions: Vec<Mutex<ort::session::Session>>,
    inputs: Vec<(String, Input)>,
    output: String,
}

#[cfg(feature = "ort")]
impl Ort {
    /// More sessions than this would hold too many copies of the weights; beyond, each gets
    /// several threads.
    const MAX_SESSIONS: usize = 8;

    fn load(bytes: &[u8], output: Option<&str>, workers: usize) -> Result<Self, String> {
        let environment = environment()?;
        let count = workers.clamp(1, Self::MAX_SESSIONS);
        let session = |_| -> Result<_, ort::Error> {
            let builder = ort::session::Session::builder(environment)?;
            let mut builder = builder.with_intra_threads((workers / count).max(1))?;
            builder.commit_from_memory(bytes)
        };
        let sessions = (0..count).map(session).collect::<Result<Vec<_>, _>>();
        let sessions = sessions.map_err(|error| error.to_string())?;
        let names: Vec<&str> = sessions[0].outputs().iter().map(|output| output.name()).collect();
        let output = choose_output(&names, output)?.to_owned();
        let inputs = sessions[0].inputs().iter();
        let inputs = inputs.map(|input| Ok((input.name().to_owned(), Input::of(input.name())?)));
        let inputs = inputs.collect::<Result<Vec<_>, String>>()?;
        let sessions = sessions.into_iter().map(Mutex::new).collect();
        Ok(Self { sessions, inputs, output })
    }

    fn run(&self, worker: usize, tokens: &[u32]) -> Result<Output, String> {
        let run = || -> Result<Output, ort::Error> {
            let mut inputs = Vec::with_capacity(self.inputs.len());
            for (name, input) in &self.inputs {
                let values = input.value(tokens, i64::from);
                let tensor = ort::value::Tensor::from_array(([1, tokens.len()], values))?;
                inputs.push((name.as_str(), tensor));
            }
            let mut session =
                self.sessions[worker % self.sessions.len()].lock().expect("a run does not panic");
            let outputs = session.run(inputs)?;
            let (shape, values) = outputs[self.output.as_str()].try_extract_tensor::<f32>()?;
            let columns = shape.last().map_or(0, |&columns| columns as usize);
            Ok(Output { values: values.to_vec(), columns })
        };
        run().map_err(|error| error.to_string())
    }
}

/// ONNX Runtime allows one environment a process.
#[cfg(feature = "ort")]
fn environment() -> Result<&'static ort::environment::Environment, String> {
    static ENVIRONMENT: OnceLock<Result<ort::environment::Environment, String>> = OnceLock::new();
    let made = ENVIRONMENT.get_or_init(|| {
        let library = std::env::var_os("ORT_DYLIB_PATH").ok_or(
            "set ORT_DYLIB_PATH to libonnxruntime (the PyPI package onnxruntime carries one in onnxruntime/capi)",
        )?;
        let builder = ort::init_from(&library).map_err(|error| error.to_string())?;
        builder.with_telemetry(false).build().map_err(|error| error.to_string())
    });
    made.as_ref().map_err(Clone::clone)
}
