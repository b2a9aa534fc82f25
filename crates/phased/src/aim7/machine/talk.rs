//! Jobs that send bytes through pipes and sockets, to oneself: whoever writes also reads.

use super::{failed, io_failed};
use rustix::fs::{FileType, Mode, OFlags};
use std::ffi::CStr;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::{UnixDatagram, UnixStream};
use vfs_api::{Call, Failure, expect};

/// Bytes of a message; all kinds take that much without a reader.
const MESSAGE: usize = 1024;
/// Messages of a job.
const MESSAGES: u32 = 100;
/// Through TCP.
const TCP_MESSAGES: u32 = 90;

/// Sends messages and sees that they arrive.
fn exchange(
    messages: u32,
    mut send: impl FnMut(&[u8]) -> std::io::Result<()>,
    mut receive: impl FnMut(&mut [u8]) -> std::io::Result<()>,
) -> Result<(), Failure> {
    let mut message = [0; MESSAGE];
    for number in 0..messages {
        message.fill(number as u8);
        send(&message).map_err(io_failed(Call::Send))?;
        message.fill(!number as u8);
        receive(&mut message).map_err(io_failed(Call::Recv))?;
        expect(Call::Recv, message.iter().all(|byte| *byte == number as u8))?;
    }
    Ok(())
}

/// A datagram is whole or it is none.
fn whole(moved: std::io::Result<usize>) -> std::io::Result<()> {
    match moved? {
        MESSAGE => Ok(()),
        _ => Err(std::io::ErrorKind::UnexpectedEof.into()),
    }
}

pub(super) fn pipe() -> Result<(), Failure> {
    let (mut reader, mut writer) = std::io::pipe().map_err(io_failed(Call::Pipe))?;
    exchange(MESSAGES, |m| writer.write_all(m), |m| reader.read_exact(m))
}

pub(super) fn stream_pair() -> Result<(), Failure> {
    let (mut a, mut b) = UnixStream::pair().map_err(io_failed(Call::Socket))?;
    exchange(MESSAGES, |m| a.write_all(m), |m| b.read_exact(m))
}

pub(super) fn datagram_pair() -> Result<(), Failure> {
    let (a, b) = UnixDatagram::pair().map_err(io_failed(Call::Socket))?;
    exchange(MESSAGES, |m| whole(a.send(m)), |m| whole(b.recv(m)))
}

/// Through a fifo at `path`, which is made and removed.
pub(super) fn fifo(path: &CStr) -> Result<(), Failure> {
    let mode = Mode::RUSR | Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, path, FileType::Fifo, mode, 0)
        .map_err(failed(Call::Mknod))?;
    // For reading and writing at once, which on Linux waits for nobody.
    let opened = rustix::fs::open(path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty());
    let exchanged = opened.map_err(failed(Call::Open)).and_then(|fd| {
        let file = std::fs::File::from(fd);
        exchange(MESSAGES, |m| (&file).write_all(m), |m| (&file).read_exact(m))
    });
    rustix::fs::unlink(path).map_err(failed(Call::Unlink))?;
    exchanged
}

pub(super) fn udp() -> Result<(), Failure> {
    let socket = || UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).map_err(io_failed(Call::Socket));
    let (a, b) = (socket()?, socket()?);
    let to = b.local_addr().map_err(io_failed(Call::Socket))?;
    exchange(MESSAGES, |m| whole(a.send_to(m, to)), |m| whole(b.recv(m)))
}

pub(super) fn tcp() -> Result<(), Failure> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(io_failed(Call::Socket))?;
    let to = listener.local_addr().map_err(io_failed(Call::Socket))?;
    let mut a = TcpStream::connect(to).map_err(io_failed(Call::Socket))?;
    let (mut b, _) = listener.accept().map_err(io_failed(Call::Socket))?;
    a.set_nodelay(true).map_err(io_failed(Call::Socket))?;
    exchange(TCP_MESSAGES, |m| a.write_all(m), |m| b.read_exact(m))
}
