//! BPF instructions as the kernel wants them, one `const fn` per opcode, and jumps to labels.
//!
//! Only what the two programs of this crate need. The encoding is that of RFC 9669: a byte of opcode, a byte with two
//! registers, a 16-bit offset and a 32-bit immediate value.

/// One instruction slot, as the kernel reads it.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Insn {
    code: u8,
    /// Destination in the low nibble, source in the high one.
    registers: u8,
    offset: i16,
    immediate: i32,
}

/// A register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reg {
    /// Result of a call; exit code.
    R0 = 0,
    /// First argument; lost over a call, as are all arguments.
    R1,
    /// Second argument.
    R2,
    /// Third argument.
    R3,
    /// Fourth argument.
    R4,
    /// Kept over calls, as the next three.
    R6 = 6,
    /// Kept over calls.
    R7,
    /// Kept over calls.
    R8,
    /// Kept over calls.
    R9,
    /// Frame pointer; the stack is the 512 bytes below.
    Fp,
}

/// How much memory an access touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    /// 32 bits; loads fill up with zeros.
    Word = 0x00,
    /// 64 bits.
    Double = 0x18,
}

/// Helper functions of the kernel, by their number in `linux/bpf.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Helper {
    /// r0 = pointer to the value of key *r2 in map r1, or 0.
    MapLookup = 1,
    /// Sets key *r2 of map r1 to value *r3 with flags r4.
    MapUpdate = 2,
    /// Removes key *r2 from map r1.
    MapDelete = 3,
    /// r0 = nanoseconds of CLOCK_MONOTONIC.
    KtimeNs = 5,
    /// r0 = number of the stack of context r1 in map r2, flags r3.
    StackId = 27,
    /// Thread and process id as seen in the PID namespace (device r1, inode r2) into r4 bytes at r3.
    NsPidTgid = 120,
}

const fn insn(code: u8, dst: Reg, src: Reg, offset: i16, immediate: i32) -> Insn {
    Insn { code, registers: (src as u8) << 4 | dst as u8, offset, immediate }
}

/// dst = src
pub(crate) const fn mov(dst: Reg, src: Reg) -> Insn {
    insn(0xbf, dst, src, 0, 0)
}

/// dst = value, sign-extended
pub(crate) const fn mov_imm(dst: Reg, value: i32) -> Insn {
    insn(0xb7, dst, Reg::R0, 0, value)
}

/// dst += value
pub(crate) const fn add_imm(dst: Reg, value: i32) -> Insn {
    insn(0x07, dst, Reg::R0, 0, value)
}

/// dst += src
pub(crate) const fn add(dst: Reg, src: Reg) -> Insn {
    insn(0x0f, dst, src, 0, 0)
}

/// dst -= src
pub(crate) const fn sub(dst: Reg, src: Reg) -> Insn {
    insn(0x1f, dst, src, 0, 0)
}

/// dst &= value
pub(crate) const fn and_imm(dst: Reg, value: i32) -> Insn {
    insn(0x57, dst, Reg::R0, 0, value)
}

/// dst ^= src
pub(crate) const fn xor(dst: Reg, src: Reg) -> Insn {
    insn(0xaf, dst, src, 0, 0)
}

/// dst = *(size *)(src + offset)
pub(crate) const fn load(size: Size, dst: Reg, src: Reg, offset: i16) -> Insn {
    insn(0x61 | size as u8, dst, src, offset, 0)
}

/// *(size *)(dst + offset) = src
pub(crate) const fn store(size: Size, dst: Reg, offset: i16, src: Reg) -> Insn {
    insn(0x63 | size as u8, dst, src, offset, 0)
}

/// *(size *)(dst + offset) = value
pub(crate) const fn store_imm(size: Size, dst: Reg, offset: i16, value: i32) -> Insn {
    insn(0x62 | size as u8, dst, Reg::R0, offset, value)
}

/// dst = value; two slots
pub(crate) const fn load_imm64(dst: Reg, value: u64) -> [Insn; 2] {
    wide(dst, 0, value)
}

/// dst = the map behind file descriptor `fd`; two slots
pub(crate) const fn load_map(dst: Reg, fd: i32) -> [Insn; 2] {
    // 1 is BPF_PSEUDO_MAP_FD.
    wide(dst, 1, fd as u32 as u64)
}

const fn wide(dst: Reg, source: u8, value: u64) -> [Insn; 2] {
    let (low, high) = (value as u32 as i32, (value >> 32) as u32 as i32);
    let registers = source << 4 | dst as u8;
    [
        Insn { code: 0x18, registers, offset: 0, immediate: low },
        Insn { code: 0, registers: 0, offset: 0, immediate: high },
    ]
}

/// Calls a helper.
pub(crate) const fn call(helper: Helper) -> Insn {
    insn(0x85, Reg::R0, Reg::R0, 0, helper as i32)
}

/// Returns r0.
pub(crate) const fn exit() -> Insn {
    insn(0x95, Reg::R0, Reg::R0, 0, 0)
}

/// goto +offset
pub(crate) const fn jump(offset: i16) -> Insn {
    insn(0x05, Reg::R0, Reg::R0, offset, 0)
}

/// if dst == value goto +offset
pub(crate) const fn jump_eq_imm(dst: Reg, value: i32, offset: i16) -> Insn {
    insn(0x15, dst, Reg::R0, offset, value)
}

/// if dst != value goto +offset
pub(crate) const fn jump_ne_imm(dst: Reg, value: i32, offset: i16) -> Insn {
    insn(0x55, dst, Reg::R0, offset, value)
}

/// if dst < src, unsigned, goto +offset
pub(crate) const fn jump_lt(dst: Reg, src: Reg, offset: i16) -> Insn {
    insn(0xad, dst, src, offset, 0)
}

/// if dst >= src, unsigned, goto +offset
pub(crate) const fn jump_ge(dst: Reg, src: Reg, offset: i16) -> Insn {
    insn(0x3d, dst, src, offset, 0)
}

/// A place in a program that jumps lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Label(usize);

/// A program in the making: instructions in their order, and jumps whose way is not known yet.
#[derive(Debug, Default)]
pub(crate) struct Assembler {
    insns: Vec<Insn>,
    /// Where each label is bound.
    labels: Vec<Option<usize>>,
    /// Jumps, and where they lead.
    jumps: Vec<(usize, Label)>,
}

impl Assembler {
    /// Appends instructions.
    pub(crate) fn emit(&mut self, insns: impl IntoIterator<Item = Insn>) {
        self.insns.extend(insns);
    }

    /// A label that is bound nowhere yet.
    pub(crate) fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// Binds `label` to the next instruction.
    pub(crate) fn bind(&mut self, label: Label) {
        self.labels[label.0] = Some(self.insns.len());
    }

    /// Appends a jump of any kind; its own offset is replaced by the way to `label`.
    pub(crate) fn jump(&mut self, jump: Insn, label: Label) {
        self.jumps.push((self.insns.len(), label));
        self.insns.push(jump);
    }

    /// The program.
    ///
    /// # Panics
    /// If a label was bound nowhere or is too far away: a bug of whoever wrote the program.
    pub(crate) fn finish(mut self) -> Vec<Insn> {
        for (at, label) in self.jumps {
            let target = self.labels[label.0].expect("every label is bound");
            let way = target as i64 - (at as i64 + 1);
            self.insns[at].offset = i16::try_from(way).expect("programs are short");
        }
        self.insns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(insn: Insn) -> [u8; 8] {
        let Insn { code, registers, offset, immediate } = insn;
        let (o, i) = (offset.to_le_bytes(), immediate.to_le_bytes());
        [code, registers, o[0], o[1], i[0], i[1], i[2], i[3]]
    }

    #[test]
    fn every_opcode_has_the_bytes_of_the_instruction_set() {
        use Reg::*;
        use Size::*;
        // Worked out from the tables of RFC 9669.
        let cases = [
            (mov(R6, R1), [0xbf, 0x16, 0, 0, 0, 0, 0, 0]),
            (mov(R2, Fp), [0xbf, 0xa2, 0, 0, 0, 0, 0, 0]),
            (mov_imm(R0, -1), [0xb7, 0x00, 0, 0, 0xff, 0xff, 0xff, 0xff]),
            (mov_imm(R4, 8), [0xb7, 0x04, 0, 0, 8, 0, 0, 0]),
            (add_imm(R2, -24), [0x07, 0x02, 0, 0, 0xe8, 0xff, 0xff, 0xff]),
            (add(R1, R8), [0x0f, 0x81, 0, 0, 0, 0, 0, 0]),
            (sub(R8, R1), [0x1f, 0x18, 0, 0, 0, 0, 0, 0]),
            (and_imm(R9, 63), [0x57, 0x09, 0, 0, 63, 0, 0, 0]),
            (xor(R1, R9), [0xaf, 0x91, 0, 0, 0, 0, 0, 0]),
            (load(Word, R8, Fp, -8), [0x61, 0xa8, 0xf8, 0xff, 0, 0, 0, 0]),
            (load(Double, R7, R6, 8), [0x79, 0x67, 8, 0, 0, 0, 0, 0]),
            (store(Word, Fp, -32, R0), [0x63, 0x0a, 0xe0, 0xff, 0, 0, 0, 0]),
            (store(Double, Fp, -24, R7), [0x7b, 0x7a, 0xe8, 0xff, 0, 0, 0, 0]),
            (store_imm(Word, Fp, -4, 0), [0x62, 0x0a, 0xfc, 0xff, 0, 0, 0, 0]),
            (store_imm(Double, Fp, -16, 1), [0x7a, 0x0a, 0xf0, 0xff, 1, 0, 0, 0]),
            (call(Helper::MapLookup), [0x85, 0, 0, 0, 1, 0, 0, 0]),
            (call(Helper::StackId), [0x85, 0, 0, 0, 27, 0, 0, 0]),
            (call(Helper::NsPidTgid), [0x85, 0, 0, 0, 120, 0, 0, 0]),
            (exit(), [0x95, 0, 0, 0, 0, 0, 0, 0]),
            (jump(2), [0x05, 0, 2, 0, 0, 0, 0, 0]),
            (jump_eq_imm(R0, 0, 5), [0x15, 0, 5, 0, 0, 0, 0, 0]),
            (jump_ne_imm(R1, 33, -3), [0x55, 1, 0xfd, 0xff, 33, 0, 0, 0]),
            (jump_lt(R7, R1, 1), [0xad, 0x17, 1, 0, 0, 0, 0, 0]),
            (jump_ge(R7, R1, 1), [0x3d, 0x17, 1, 0, 0, 0, 0, 0]),
        ];
        for (insn, want) in cases {
            assert_eq!(bytes(insn), want, "{insn:?}");
        }
    }

    #[test]
    fn wide_loads_take_two_slots() {
        let [low, high] = load_imm64(Reg::R1, 0x1122_3344_5566_7788);
        assert_eq!(bytes(low), [0x18, 0x01, 0, 0, 0x88, 0x77, 0x66, 0x55]);
        assert_eq!(bytes(high), [0, 0, 0, 0, 0x44, 0x33, 0x22, 0x11]);
        let [low, high] = load_map(Reg::R2, 7);
        assert_eq!(bytes(low), [0x18, 0x12, 0, 0, 7, 0, 0, 0]);
        assert_eq!(bytes(high), [0; 8]);
    }

    #[test]
    fn jumps_lead_to_their_labels_both_ways() {
        let mut program = Assembler::default();
        let (top, end) = (program.label(), program.label());
        program.bind(top);
        program.jump(jump_eq_imm(Reg::R0, 0, 0), end);
        program.emit(load_imm64(Reg::R1, 1));
        program.jump(jump(0), top);
        program.bind(end);
        program.emit([exit()]);
        let offsets: Vec<i16> = program.finish().iter().map(|insn| insn.offset).collect();
        assert_eq!(offsets, [3, 0, 0, -4, 0]);
    }

    #[test]
    fn a_slot_is_eight_bytes() {
        assert_eq!(size_of::<Insn>(), 8);
    }
}
