//! A workload of fixed work bound to a target, with the types gone; [`bench`](crate::bench) does it for those of a slice.

use crate::bench::{Bench, FailedOn, Next, Outcome, Runner, System, ThisKernel, at_work};
use crate::clock::now_ns;
use crate::lab_target::{DIR, Lab, LabSpec};
use crate::latency::Latencies;
use machine::{Counted, Real};
use std::ffi::{CStr, CString};
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use vfs_api::{
    Call, Capability, Failure, FileSystem, Meter, Params, Phase, Phased, Place, Rate, Selected,
};

/// What is known of a workload of fixed work without its type.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub(crate) phases: &'static [Phase],
    pub(crate) rate: Rate,
    /// Beyond those of its description.
    pub(crate) needs: Vec<Capability>,
}

impl Facts {
    pub(crate) fn of(workload: &Selected) -> Facts {
        visit(workload, Ask(workload.params()))
    }
}

struct Ask<'a>(&'a Params);

impl Visit for Ask<'_> {
    type Answer = Facts;

    fn visit<W: Phased>(self) -> Facts {
        Facts { phases: W::PHASES, rate: W::rate(self.0), needs: W::needs(self.0) }
    }
}

/// Something done with the type of one workload.
pub(crate) trait Visit {
    type Answer;
    fn visit<W: Phased>(self) -> Self::Answer;
}

/// Calls `visitor` with the type of `workload`, which is one of the `phased` crate.
pub(crate) fn visit<V: Visit>(workload: &Selected, visitor: V) -> V::Answer {
    struct Find<'a, V: Visit> {
        name: &'a str,
        visitor: Option<V>,
        answer: Option<V::Answer>,
    }
    impl<V: Visit> phased::Visitor for Find<'_, V> {
        fn visit<W: Phased>(&mut self) {
            if W::INFO.name == self.name {
                self.answer = self.visitor.take().map(V::visit::<W>);
            }
        }
    }
    let mut find = Find { name: workload.info().name, visitor: Some(visitor), answer: None };
    phased::visit_all(&mut find);
    find.answer.expect("an Info of fixed work comes from the registry that is searched here")
}

/// All steps of a phase, in one task, until it has done them, one failed, or `is_over`. Answers how many succeeded.
pub(crate) fn carry_out<W: Phased, F: FileSystem>(
    fs: &F,
    task: &mut W::Task,
    (phase, tasks, steps): (usize, usize, u64),
    meter: &mut impl Meter,
    is_over: impl Fn() -> bool,
    mut done: impl FnMut(),
) -> Outcome {
    let mut ops = 0;
    let mut all = || {
        W::begin(fs, task, phase, tasks)?;
        while ops < steps && !is_over() {
            W::step(fs, task, phase, ops, meter)?;
            ops += 1;
            done();
        }
        W::end(fs, task, phase)
    };
    let failure = all().err();
    Outcome { ops, passes: ops, failure }
}

/// Times calls by the clock of this machine.
struct Watch(Latencies);

impl Meter for Watch {
    #[inline]
    fn timed<R>(&mut self, call: impl FnOnce() -> Result<R, Failure>) -> Result<R, Failure> {
        let since = now_ns();
        let result = call()?;
        self.0.record(now_ns() - since);
        Ok(result)
    }
}

struct Bound<W, S> {
    system: Arc<S>,
    dir: CString,
    params: Params,
    workload: PhantomData<fn() -> W>,
}

impl<W: Phased, S: System> Bound<W, S> {
    fn place(&self, task: usize) -> Place {
        Place { dir: self.dir.clone(), task, params: self.params.clone() }
    }
}

impl<W: Phased, S: System> Bench for Bound<W, S> {
    fn prepare(&self) -> Result<(), FailedOn> {
        let place = self.place(0);
        let fs = self.system.prepare(&(W::INFO.demand)(&self.params))?;
        at_work(&fs, |fs| W::prepare(fs, &place))
            .map_err(|failure| FailedOn { failure, path: place.dir.clone() })
    }

    fn task(&self, task: usize) -> Result<Box<dyn Runner>, FailedOn> {
        let fs = self.system.task(task)?;
        let place = self.place(task);
        let task = at_work(&fs, |fs| W::task(fs, &place))
            .map_err(|failure| FailedOn { failure, path: place.own_path() })?;
        let system = Arc::clone(&self.system);
        let next = (0, 1);
        let watch = Watch(Latencies::new());
        Ok(Box::new(Task::<W, S> { system, fs, task, next, watch }))
    }

    fn is_timed(&self) -> bool {
        W::rate(&self.params).block_bytes > 0
    }

    fn enter(&self) -> Result<(), FailedOn> {
        self.system.enter(&self.dir).map_err(|errno| FailedOn {
            failure: Failure::new(Call::Chdir, errno),
            path: self.dir.clone(),
        })
    }
}

struct Task<W: Phased, S: System> {
    system: Arc<S>,
    fs: S::Fs,
    task: W::Task,
    /// Phase, and tasks that take part.
    next: (usize, usize),
    watch: Watch,
}

impl<W: Phased, S: System> Runner for Task<W, S> {
    fn renew(&mut self, next: Next) -> Result<(), Failure> {
        // The conductor asks for nothing but phases here.
        if let Next::Phase { number, tasks } = next {
            self.next = (number, tasks);
        }
        self.watch.0.clear();
        Ok(())
    }

    fn run(&mut self, stop: &AtomicU32, _batch: u32, _until: Option<u64>) -> Outcome {
        let Task { fs, task, watch, next: (phase, tasks), .. } = self;
        let work = (*phase, *tasks, W::steps(task, *phase));
        fs.enter();
        // Relaxed: the flag carries no data; seen late, it costs one step more.
        let outcome = carry_out::<W, _>(fs, task, work, watch, || stop.load(Relaxed) != 0, || ());
        fs.leave();
        outcome
    }

    fn extra(&self) -> crate::bench::Extra {
        self.system.extra(&self.fs)
    }

    fn latencies(&self) -> Option<&Latencies> {
        Some(&self.watch.0)
    }

    fn path(&self) -> &CStr {
        W::path(&self.task)
    }
}

struct Bind<'a, S>(&'a Params, Arc<S>, CString);

impl<S: System> Visit for Bind<'_, S> {
    type Answer = Box<dyn Bench>;

    fn visit<W: Phased>(self) -> Box<dyn Bench> {
        let Bind(params, system, dir) = self;
        Box::new(Bound::<W, S> { system, dir, params: params.clone(), workload: PhantomData })
    }
}

/// On a directory of this kernel.
pub(crate) fn on_dir(workload: &Selected, dir: CString) -> Box<dyn Bench> {
    visit(workload, Bind(workload.params(), Arc::new(ThisKernel), dir))
}

/// On the lab.
pub(crate) fn on_lab(workload: &Selected, spec: LabSpec) -> Box<dyn Bench> {
    let (dir, params) = (DIR.to_owned(), workload.params());
    let spec = spec.for_workload(workload.info());
    if spec.locks {
        visit(workload, Bind(params, Arc::new(Lab::<Counted>::from(spec)), dir))
    } else {
        visit(workload, Bind(params, Arc::new(Lab::<Real>::from(spec)), dir))
    }
}
