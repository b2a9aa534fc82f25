//! Records of a perf ring: samples and losses, read with no trust in their lengths.

use super::sys::{SAMPLE_CALLCHAIN, SAMPLE_IP, SAMPLE_RAW, SAMPLE_TID, SAMPLE_TIME};

/// `PERF_RECORD_LOST`.
const LOST: u32 = 2;
/// `PERF_RECORD_SAMPLE`.
const SAMPLE: u32 = 9;
/// Of a sample's `misc`: where the task was.
const CPU_MODE: u16 = 7;
const IN_KERNEL: u16 = 1;
/// Addresses from here on are marks between the parts of a chain (`PERF_CONTEXT_*`).
const FIRST_MARK: u64 = 4096u64.wrapping_neg();

/// What a record tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Record<'a> {
    /// An event.
    Sample(Sample<'a>),
    /// So many records found no room.
    Lost(u64),
}

/// An event; what was not asked for is 0 or empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sample<'a> {
    /// Was the task in the kernel?
    pub(crate) in_kernel: bool,
    /// Address of the instruction.
    pub(crate) ip: u64,
    /// Thread.
    pub(crate) tid: u32,
    /// When.
    pub(crate) ns: u64,
    /// Stack in the kernel, the innermost first.
    pub(crate) chain: Vec<u64>,
    /// The tracepoint's fields.
    pub(crate) raw: &'a [u8],
}

/// A record, or none if it is of another kind or cut.
pub(crate) fn parse(kind: u32, misc: u16, body: &[u8], sample_type: u64) -> Option<Record<'_>> {
    let mut body = Body(body);
    match kind {
        LOST => {
            let _id = body.u64()?;
            Some(Record::Lost(body.u64()?))
        }
        SAMPLE => sample(misc, body, sample_type).map(Record::Sample),
        _ => None,
    }
}

fn sample(misc: u16, mut body: Body<'_>, sample_type: u64) -> Option<Sample<'_>> {
    let has = |bit| sample_type & bit != 0;
    let mut sample = Sample { in_kernel: misc & CPU_MODE == IN_KERNEL, ..Sample::default() };
    if has(SAMPLE_IP) {
        sample.ip = body.u64()?;
    }
    if has(SAMPLE_TID) {
        let _process = body.u32()?;
        sample.tid = body.u32()?;
    }
    if has(SAMPLE_TIME) {
        sample.ns = body.u64()?;
    }
    if has(SAMPLE_CALLCHAIN) {
        let count = usize::try_from(body.u64()?).ok()?;
        let mut chain = Body(body.bytes(count.checked_mul(8)?)?);
        while let Some(address) = chain.u64() {
            if address < FIRST_MARK {
                sample.chain.push(address);
            }
        }
    }
    if has(SAMPLE_RAW) {
        let length = body.u32()? as usize;
        sample.raw = body.bytes(length)?;
    }
    Some(sample)
}

/// The rest of a record.
struct Body<'a>(&'a [u8]);

impl<'a> Body<'a> {
    fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_ne_bytes(*bytes))
    }

    fn u32(&mut self) -> Option<u32> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_ne_bytes(*bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    #[test]
    fn a_sample_has_what_was_asked_for_in_the_kernel_s_order() {
        let mark = 128u64.wrapping_neg();
        let mut body = Vec::new();
        body.extend([11u32, 12].iter().flat_map(|id| id.to_ne_bytes()));
        body.extend(words(&[99, 3, mark, 0xabc, 0xdef]));
        body.extend(4u32.to_ne_bytes());
        body.extend([1, 2, 3, 4]);
        let asked = SAMPLE_TID | SAMPLE_TIME | SAMPLE_CALLCHAIN | SAMPLE_RAW;
        let want = Sample {
            in_kernel: true,
            ip: 0,
            tid: 12,
            ns: 99,
            chain: vec![0xabc, 0xdef],
            raw: &[1, 2, 3, 4],
        };
        assert_eq!(parse(SAMPLE, IN_KERNEL, &body, asked), Some(Record::Sample(want)));
        let body = words(&[5]);
        let user = parse(SAMPLE, 2, &body, SAMPLE_IP);
        assert_eq!(user, Some(Record::Sample(Sample { ip: 5, ..Sample::default() })));
    }

    #[test]
    fn losses_are_told_and_other_records_passed_over() {
        assert_eq!(parse(LOST, 0, &words(&[1, 77]), SAMPLE_IP), Some(Record::Lost(77)));
        assert_eq!(parse(5, 0, &words(&[1, 2, 3]), SAMPLE_IP), None);
    }

    proptest! {
        #[test]
        fn no_body_makes_it_read_past_the_end(kind in 0u32..12, body: Vec<u8>, sample_type in 0u64..2048) {
            let _ = parse(kind, 1, &body, sample_type);
        }
    }
}
