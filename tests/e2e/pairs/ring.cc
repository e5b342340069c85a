// Has the kernel make threads that work for it: pairs_ring [GATE].
//
// Reads a file through io_uring, by raw system calls, each read on a worker
// (IOSQE_ASYNC): nearly all CPU time is that of threads that no fork shows.
// Exits with 77 where the kernel has no io_uring.
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <atomic>
#include <cstring>

#include "countrace/hooks.h"
#include "tests/e2e/pairs/own_truth.h"

namespace {

constexpr int kReads = 3000;
constexpr unsigned kEntries = 8;
constexpr std::size_t kBytes = 1 << 20;

class Ring {
 public:
  bool Make() {
    io_uring_params params{};
    file_ = static_cast<int>(syscall(SYS_io_uring_setup, kEntries, &params));
    if (file_ < 0) return false;
    const auto map = [this](std::size_t bytes, std::uint64_t offset) {
      void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                          file_, static_cast<off_t>(offset));
      return memory == MAP_FAILED ? nullptr : static_cast<char*>(memory);
    };
    char* queue =
        map(params.sq_off.array + params.sq_entries * sizeof(unsigned),
            IORING_OFF_SQ_RING);
    char* done =
        map(params.cq_off.cqes + params.cq_entries * sizeof(io_uring_cqe),
            IORING_OFF_CQ_RING);
    entries_ = reinterpret_cast<io_uring_sqe*>(
        map(params.sq_entries * sizeof(io_uring_sqe), IORING_OFF_SQES));
    if (queue == nullptr || done == nullptr || entries_ == nullptr) {
      return false;
    }
    const auto at = [](char* begin, unsigned offset) {
      return reinterpret_cast<unsigned*>(begin + offset);
    };
    tail_ = at(queue, params.sq_off.tail);
    mask_ = *at(queue, params.sq_off.ring_mask);
    array_ = at(queue, params.sq_off.array);
    done_head_ = at(done, params.cq_off.head);
    done_mask_ = *at(done, params.cq_off.ring_mask);
    results_ = reinterpret_cast<io_uring_cqe*>(done + params.cq_off.cqes);
    return true;
  }

  // Reads on a worker, and waits for it.
  int Read(int file, void* buffer, unsigned bytes) {
    const unsigned tail = *tail_;
    io_uring_sqe& entry = entries_[tail & mask_];
    std::memset(&entry, 0, sizeof(entry));
    entry.opcode = IORING_OP_READ;
    entry.flags = IOSQE_ASYNC;
    entry.fd = file;
    entry.addr = reinterpret_cast<std::uint64_t>(buffer);
    entry.len = bytes;
    array_[tail & mask_] = tail & mask_;
    // The kernel reads it behind the entry.
    std::atomic_ref(*tail_).store(tail + 1, std::memory_order_release);
    if (syscall(SYS_io_uring_enter, file_, 1, 1, IORING_ENTER_GETEVENTS,
                nullptr, 0) != 1) {
      return -1;
    }
    const int result = results_[*done_head_ & done_mask_].res;
    std::atomic_ref(*done_head_)
        .store(*done_head_ + 1, std::memory_order_release);
    return result;
  }

 private:
  int file_ = -1;
  io_uring_sqe* entries_ = nullptr;
  unsigned *tail_ = nullptr, *array_ = nullptr, *done_head_ = nullptr;
  io_uring_cqe* results_ = nullptr;
  unsigned mask_ = 0, done_mask_ = 0;
};

}  // namespace

extern "C" __attribute__((noinline)) int ProbedFunction(int x) {
  __asm__ volatile("" : "+r"(x));
  return x + 1;
}

int main(int argc, char** argv) {
  const pairs::Life life =
      pairs::Life::BeginBehind(argc > 1 ? argv[1] : nullptr);
  COUNTRACE_HOOK("ring", "begin");  // the first hook of a process takes long
  Ring ring;
  const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  const int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
  if (file < 0 || zero < 0) return 3;
  if (!ring.Make()) return 77;
  void* buffer = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (buffer == MAP_FAILED) return 3;
  // Pages that the kernel maps on its own are page faults for getrusage only.
  std::memset(buffer, 1, kBytes);
  pairs::Truths truths;
  pairs::Truth& truth = truths["ring:read"];
  int probed = 0;
  for (int i = 0; i < kReads; ++i) {
    pairs::Span outside(&truth.outside);
    COUNTRACE_SEGMENT("ring", "read");
    pairs::Span inside(&truth.inside);
    ++truth.calls;
    if (ring.Read(zero, buffer, kBytes) != static_cast<int>(kBytes)) return 4;
    probed = ProbedFunction(probed);
    COUNTRACE_HOOK("ring", "query__start");
    COUNTRACE_HOOK("ring", "query__done");
  }
  char more[256];
  std::snprintf(more, sizeof(more),
                ", \"threads\": [2, 11], \"processes\": 1, \"system_calls\": "
                "{\"io_uring_enter\": %d}, \"uprobe\": %d, \"usdt\": %d",
                kReads, probed, kReads);
  pairs::Print(truths, life,
               static_cast<std::int64_t>(kBytes) / sysconf(_SC_PAGESIZE), more);
  return 0;
}
