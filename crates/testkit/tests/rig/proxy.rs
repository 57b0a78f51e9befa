//! Each fault, seen from the client's side of a socket.

use std::io::ErrorKind;
use std::time::{Duration, Instant};

use testkit::proxy::{Cut, Faults, Mode, Proxy, serve_control};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(10);

/// Says back what it hears.
async fn echo() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address").to_string();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (mut from, mut to) = socket.split();
                tokio::io::copy(&mut from, &mut to).await.unwrap_or_default()
            });
        }
    });
    address
}

struct Scene {
    proxy: Proxy,
}

impl Scene {
    async fn new() -> Scene {
        Scene { proxy: Proxy::start(echo().await).await.expect("a proxy") }
    }

    async fn open(&self) -> TcpStream {
        TcpStream::connect(self.proxy.address()).await.expect("a connection")
    }

    fn faults(&self, change: impl FnOnce(&mut Faults)) {
        let mut faults = Faults::default();
        change(&mut faults);
        self.proxy.set(faults);
    }
}

async fn say(socket: &mut TcpStream, text: &str) {
    socket.write_all(text.as_bytes()).await.expect("written");
}

async fn hear(socket: &mut TcpStream, length: usize) -> String {
    let mut bytes = vec![0; length];
    timeout(PATIENCE, socket.read_exact(&mut bytes)).await.expect("in time").expect("so many bytes");
    String::from_utf8(bytes).expect("text")
}

/// All that comes, and how it ends.
async fn rest(socket: &mut TcpStream) -> (Vec<u8>, Result<(), ErrorKind>) {
    let mut bytes = Vec::new();
    let end = timeout(PATIENCE, socket.read_to_end(&mut bytes)).await.expect("an end in time");
    (bytes, end.map(drop).map_err(|error| error.kind()))
}

#[tokio::test]
async fn without_a_fault_bytes_and_ends_pass() {
    let scene = Scene::new().await;
    let mut socket = scene.open().await;
    say(&mut socket, "hello").await;
    assert_eq!(hear(&mut socket, 5).await, "hello");
    socket.shutdown().await.unwrap();
    assert_eq!(rest(&mut socket).await, (vec![], Ok(())));
    let told = scene.proxy.tell();
    assert_eq!((&told["connections"]["accepted"], &told["bytes"]["answered"]), (&1.into(), &5.into()));
}

#[tokio::test]
async fn a_delay_is_felt_in_both_directions_and_does_not_slow() {
    let scene = Scene::new().await;
    scene.faults(|faults| faults.delay = Duration::from_millis(50));
    let mut socket = scene.open().await;
    let start = Instant::now();
    for _ in 0..20 {
        say(&mut socket, "0123456789").await;
        tokio::task::yield_now().await;
    }
    hear(&mut socket, 200).await;
    let took = start.elapsed();
    assert!(took >= Duration::from_millis(100), "{took:?}");
    assert!(took < Duration::from_millis(900), "twenty pieces waited for each other: {took:?}");
}

#[tokio::test]
async fn a_slow_line_takes_its_time() {
    let scene = Scene::new().await;
    scene.faults(|faults| faults.bytes_per_second = 10_000);
    let mut socket = scene.open().await;
    let start = Instant::now();
    say(&mut socket, &"x".repeat(3000)).await;
    hear(&mut socket, 3000).await;
    let took = start.elapsed();
    assert!(took >= Duration::from_millis(250), "{took:?}");
}

#[tokio::test]
async fn a_cut_comes_after_so_many_bytes_as_a_reset_or_as_an_end() {
    for (cut, end) in [(Cut::Fin, Ok(())), (Cut::Rst, Err(ErrorKind::ConnectionReset))] {
        let scene = Scene::new().await;
        scene.faults(|faults| (faults.cut_after, faults.cut) = (Some(1000), cut));
        let mut socket = scene.open().await;
        say(&mut socket, &"x".repeat(999)).await;
        assert_eq!(hear(&mut socket, 999).await.len(), 999);
        say(&mut socket, "the last byte and more").await;
        let (bytes, ended) = rest(&mut socket).await;
        assert_eq!(ended, end, "{cut:?}");
        // A reset may overtake what was written just before it.
        assert!(bytes.len() <= 1, "{bytes:?}");
    }
}

#[tokio::test]
async fn open_connections_can_be_cut_at_once() {
    let scene = Scene::new().await;
    let mut socket = scene.open().await;
    say(&mut socket, "hello").await;
    hear(&mut socket, 5).await;
    scene.faults(|faults| faults.cut_after = Some(0));
    assert_eq!(rest(&mut socket).await, (vec![], Err(ErrorKind::ConnectionReset)));
}

#[tokio::test]
async fn while_it_refuses_nobody_listens_and_open_connections_go_on() {
    let scene = Scene::new().await;
    let mut socket = scene.open().await;
    say(&mut socket, "a").await;
    hear(&mut socket, 1).await;
    scene.faults(|faults| faults.mode = Mode::Refuse);
    let refused = timeout(PATIENCE, async {
        // The port is given up a moment later; until then a connection may be taken or reset.
        let refuses = |tried: std::io::Result<TcpStream>| tried.map_err(|error| error.kind()).err();
        while refuses(TcpStream::connect(scene.proxy.address()).await) != Some(ErrorKind::ConnectionRefused) {
            tokio::task::yield_now().await;
        }
    });
    refused.await.expect("in time");
    say(&mut socket, "b").await;
    assert_eq!(hear(&mut socket, 1).await, "b");
    scene.faults(|_| {});
    let again = timeout(PATIENCE, async {
        loop {
            match TcpStream::connect(scene.proxy.address()).await {
                Ok(socket) => return socket,
                Err(_) => tokio::task::yield_now().await,
            }
        }
    });
    let mut again = again.await.expect("it listens again");
    say(&mut again, "c").await;
    assert_eq!(hear(&mut again, 1).await, "c");
}

#[tokio::test]
async fn a_stop_loses_nothing() {
    let scene = Scene::new().await;
    let mut socket = scene.open().await;
    say(&mut socket, "before").await;
    hear(&mut socket, 6).await;
    scene.faults(|faults| faults.mode = Mode::Stop);
    say(&mut socket, " during").await;
    let silence = timeout(Duration::from_millis(100), socket.peek(&mut [0])).await;
    assert!(silence.is_err(), "something passed");
    scene.faults(|_| {});
    assert_eq!(hear(&mut socket, 7).await, " during");
}

#[tokio::test]
async fn a_black_hole_takes_everything_and_gives_nothing() {
    let scene = Scene::new().await;
    scene.faults(|faults| faults.mode = Mode::BlackHole);
    let mut socket = scene.open().await;
    say(&mut socket, &"x".repeat(5_000_000)).await;
    let silence = timeout(Duration::from_millis(100), socket.peek(&mut [0])).await;
    assert!(silence.is_err(), "something came back");
    assert_eq!(scene.proxy.tell()["bytes"]["answered"], 0);
}

#[tokio::test]
async fn a_target_that_resets_is_seen_to_reset() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = Proxy::start(listener.local_addr().unwrap().to_string()).await.unwrap();
    let mut socket = TcpStream::connect(proxy.address()).await.unwrap();
    let (target, _) = listener.accept().await.unwrap();
    target.set_zero_linger().unwrap();
    drop(target);
    assert_eq!(rest(&mut socket).await, (vec![], Err(ErrorKind::ConnectionReset)));
}

#[tokio::test]
async fn faults_are_set_told_and_healed_over_http() {
    let scene = Scene::new().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(serve_control(listener, scene.proxy.clone(), std::future::pending()));
    let ask = async |line: &str| {
        let mut socket = TcpStream::connect(address).await.unwrap();
        say(&mut socket, &format!("{line} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")).await;
        String::from_utf8(rest(&mut socket).await.0).unwrap()
    };
    assert!(ask("PUT /faults?mode=stop&delay_ms=7").await.contains("\"delay_ms\":7"));
    assert_eq!((scene.proxy.faults().mode, scene.proxy.faults().delay.as_millis()), (Mode::Stop, 7));
    assert!(ask("PUT /faults?mode=pass").await.contains("\"delay_ms\":7"), "what is not named stays");
    assert!(ask("PUT /faults?mode=odd").await.starts_with("HTTP/1.1 400 "));
    assert!(ask("DELETE /faults").await.contains("\"delay_ms\":0"));
    assert_eq!(scene.proxy.faults(), Faults::default());
    assert!(ask("GET /other").await.starts_with("HTTP/1.1 404 "));
}
