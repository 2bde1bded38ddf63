//! Integration tests: one binary, one module a subject.

mod champ;
mod hostile;
mod logicbench;
mod medcalc;
mod phrasings;
mod real;
mod table;
mod theoremqa;
mod toolqa;
