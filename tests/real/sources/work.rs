// Threads that ask for the parent's number; ends with status 5.
use std::os::unix::process::parent_id;
use std::thread;

#[no_mangle]
#[inline(never)]
pub extern "C" fn work_step(sum: u64) -> u64 {
    std::hint::black_box(sum + u64::from(parent_id() != 1) * 0 + 1)
}

fn main() {
    let threads: Vec<_> = (0..4)
        .map(|_| thread::spawn(|| (0..250).fold(0, |sum, _| work_step(sum))))
        .collect();
    let sum: u64 = threads.into_iter().map(|t| t.join().unwrap()).sum();
    println!("steps {sum}");
    std::process::exit(5);
}
