//! Which conditions are not the same on both sides.

use results::{Curve, Difference, Host, Kind, Mount, Pairing, Run};
use std::collections::BTreeSet;

/// What differs, in a fixed order. Between interleaved sides only what they run on can; stored runs may have been taken
/// anywhere. What a side does not know (an imported file names no governor) is no difference. `pairs` are the curves that are
/// compared.
pub(crate) fn differences(
    before: &Run,
    after: &Run,
    pairing: Pairing,
    pairs: &[(&Curve, &Curve)],
) -> Vec<Difference> {
    let mut found = Differences(Vec::new());
    if pairing == Pairing::Stored {
        found.curves(pairs);
        found.run(before, after);
        found.host(&before.host, &after.host);
    }
    found.mounts(&before.host.fs, &after.host.fs);
    found.0
}

struct Differences(Vec<Difference>);

impl Differences {
    fn look(&mut self, what: &str, before: String, after: String) {
        if before != after && !before.is_empty() && !after.is_empty() {
            self.0.push(Difference { what: what.into(), before, after });
        }
    }

    /// What was measured, where, and whether locks were counted meanwhile, which takes time. Each difference once.
    fn curves(&mut self, pairs: &[(&Curve, &Curve)]) {
        let kind = |curve: &Curve| match curve.kind {
            Kind::Measured => "measured",
            Kind::Simulated => "simulated",
            Kind::Imported => "imported",
        };
        // The simulator's count costs nothing.
        let counted = |curve: &Curve| match curve.points.iter().any(|point| !point.locks.is_empty())
        {
            true if curve.kind == Kind::Measured => "counted",
            _ => "not counted",
        };
        let mut seen = Vec::new();
        for (b, a) in pairs {
            for (what, before, after) in [
                ("target", b.target.as_str(), a.target.as_str()),
                ("figures", kind(b), kind(a)),
                ("locks", counted(b), counted(a)),
            ] {
                if !seen.contains(&(what, before, after)) {
                    seen.push((what, before, after));
                    self.look(what, before.into(), after.into());
                }
            }
        }
    }

    fn run(&mut self, before: &Run, after: &Run) {
        self.look("vfscale", before.vfscale.clone(), after.vfscale.clone());
        let ms = |run: &Run| match run.plan.slice_s {
            0.0 => String::new(),
            slice => format!("{} ms", slice * 1e3),
        };
        self.look("slice", ms(before), ms(after));
        self.look("pinning", before.plan.pin.clone(), after.plan.pin.clone());
        let tool = |run: &Run| run.import.as_ref().map_or("vfscale".into(), |i| i.tool.clone());
        self.look("taken by", tool(before), tool(after));
    }

    fn host(&mut self, before: &Host, after: &Host) {
        let known = |value: &str| value.to_owned();
        self.look("kernel", known(&before.kernel), known(&after.kernel));
        self.look("architecture", known(&before.arch), known(&after.arch));
        let model = |host: &Host| host.cpu_model.clone().unwrap_or_default();
        self.look("CPU", model(before), model(after));
        let cpus = |host: &Host| match host.cpus.len() {
            0 => String::new(),
            // As many, but other ones.
            n if before.cpus.len() == after.cpus.len() => {
                let numbers: Vec<String> = host.cpus.iter().map(u32::to_string).collect();
                format!("{n} ({})", numbers.join(","))
            }
            n => format!("{n}"),
        };
        self.look("usable CPUs", cpus(before), cpus(after));
        let topology = |host: &Host| match host.topology.sockets {
            0 => String::new(),
            sockets => format!(
                "{sockets} sockets, {} nodes, {} cores, {} threads a core",
                host.topology.nodes, host.topology.cores, host.topology.threads_per_core
            ),
        };
        self.look("topology", topology(before), topology(after));
        if before.kernel.is_empty() || after.kernel.is_empty() {
            return;
        }
        let governor = |host: &Host| match host.governor.is_empty() {
            true => "no cpufreq".to_owned(),
            false => host.governor.join(", "),
        };
        self.look("governor", governor(before), governor(after));
        let turbo =
            |host: &Host| host.turbo.map_or("unknown", |on| if on { "on" } else { "off" }).into();
        self.look("turbo", turbo(before), turbo(after));
        let quota = |host: &Host| {
            host.quota.as_ref().map_or("none".to_owned(), |quota| format!("{} CPUs", quota.cpus))
        };
        self.look("CPU quota", quota(before), quota(after));
        let memory =
            |host: &Host| format!("{:.1} GiB", host.memory_bytes as f64 / f64::from(1 << 30));
        self.look("memory", memory(before), memory(after));
        let virtualised = |host: &Host| if host.virtualised { "yes" } else { "no" }.to_owned();
        self.look("virtual machine", virtualised(before), virtualised(after));
        let state = |host: &Host, name: &str| {
            host.mitigations.get(name).cloned().unwrap_or("unknown".into())
        };
        let names: BTreeSet<&String> =
            before.mitigations.keys().chain(after.mitigations.keys()).collect();
        for name in names {
            self.look(&format!("mitigation {name}"), state(before, name), state(after, name));
        }
    }

    /// Mount by mount in the order of the curves.
    fn mounts(&mut self, before: &[Mount], after: &[Mount]) {
        for (b, a) in before.iter().zip(after) {
            self.look("file system", b.fs_type.clone(), a.fs_type.clone());
            self.look("device", b.source.clone(), a.source.clone());
            let options = |options: &[String]| match options.is_empty() {
                true => "none".to_owned(),
                false => options.join(","),
            };
            self.look("mount options", options(&b.mount_options), options(&a.mount_options));
            self.look("super block", options(&b.super_options), options(&a.super_options));
        }
    }
}
