//! Integration tests: one binary, one module a subject.

mod champ;
mod hostile;
mod logicbench;
mod medcalc;
mod phrasings;
mod plots;
mod real;
mod report;
mod sample;
mod table;
mod theoremqa;
mod toolqa;
mod verify;
