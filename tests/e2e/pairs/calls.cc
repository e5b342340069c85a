// Computes for known times in known functions and segments, touches known
// pages: pairs_calls [GATE].
//
// 40 rounds, a segment each, with work in three functions in a drawn order,
// system calls, calls of a function for a uprobe, a USDT pair, and a segment
// that touches fresh pages. A second thread has a segment of its own.
#include <sys/mman.h>
#include <sys/syscall.h>

#include <thread>

#include "countrace/hooks.h"
#include "tests/e2e/pairs/own_truth.h"

namespace {

constexpr int kRounds = 40;
constexpr int kPages = 8;
constexpr int kSystemCalls = 10;
constexpr int kProbed = 5;
constexpr int kPieces = 10;  // of work in a round
constexpr std::uint64_t kStepsOfPiece = 400'000;

volatile std::uint64_t g_result = 0;

std::uint64_t Steps(std::uint64_t count, std::uint64_t x) {
  for (std::uint64_t i = 0; i < count; ++i) x = x * 6364136223846793005u + i;
  return x;
}

}  // namespace

// With names of their own in the symbol table.
#define COUNTRACE_WORK(name)                                            \
  __attribute__((noinline)) void name(std::int64_t* ns) {               \
    const std::int64_t begin = pairs::ClockNs(CLOCK_THREAD_CPUTIME_ID); \
    g_result = Steps(kStepsOfPiece, g_result);                          \
    *ns += pairs::ClockNs(CLOCK_THREAD_CPUTIME_ID) - begin;             \
    __asm__ volatile("");                                               \
  }
COUNTRACE_WORK(Half)
COUNTRACE_WORK(Third)
COUNTRACE_WORK(Fifth)

extern "C" __attribute__((noinline)) int ProbedFunction(int x) {
  __asm__ volatile("" : "+r"(x));
  return x + 1;
}

__attribute__((noinline)) void TouchPages(char* pages, long page_bytes) {
  for (int i = 0; i < kPages; ++i) pages[i * page_bytes] = 1;
  __asm__ volatile("");
}

namespace {

struct Work {
  std::int64_t half_ns = 0, third_ns = 0, fifth_ns = 0;
  std::int64_t all_ns() const { return half_ns + third_ns + fifth_ns; }
};

void Round(std::uint64_t* random, char* pages, long page_bytes, Work* work,
           pairs::Truths* truths) {
  pairs::Truth& truth = (*truths)["pairs:round"];
  pairs::Span outside(&truth.outside);
  COUNTRACE_SEGMENT("pairs", "round");
  pairs::Span inside(&truth.inside);
  ++truth.calls;
  const std::int64_t before_ns = work->all_ns();
  for (int piece = 0; piece < kPieces; ++piece) {
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    const std::uint64_t drawn = (*random >> 33) % 10;
    if (drawn < 5) {
      Half(&work->half_ns);
    } else if (drawn < 8) {
      Third(&work->third_ns);
    } else {
      Fifth(&work->fifth_ns);
    }
  }
  truth.own_cpu_ns += work->all_ns() - before_ns;
  for (int i = 0; i < kSystemCalls; ++i) syscall(SYS_getppid);
  for (int i = 0; i < kProbed; ++i) g_result = g_result + ProbedFunction(i);
  COUNTRACE_HOOK("pairs", "query__start");
  COUNTRACE_HOOK("pairs", "query__done");
  pairs::Truth& touch = (*truths)["pairs:touch"];
  pairs::Span touch_outside(&touch.outside);
  COUNTRACE_SEGMENT("pairs", "touch");
  pairs::Span touch_inside(&touch.inside);
  ++touch.calls;
  touch.touched_pages += kPages;
  truth.touched_pages += kPages;
  TouchPages(pages, page_bytes);
}

void SecondThread(pairs::Truth* truth) {
  for (int i = 0; i < 10; ++i) {
    pairs::Span outside(&truth->outside);
    COUNTRACE_SEGMENT("pairs", "second");
    pairs::Span inside(&truth->inside);
    ++truth->calls;
    const std::int64_t begin = pairs::ClockNs(CLOCK_THREAD_CPUTIME_ID);
    g_result = Steps(kStepsOfPiece, i);
    truth->own_cpu_ns += pairs::ClockNs(CLOCK_THREAD_CPUTIME_ID) - begin;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const pairs::Life life =
      pairs::Life::BeginBehind(argc > 1 ? argv[1] : nullptr);
  COUNTRACE_HOOK("pairs", "begin");  // the first hook of a process takes long
  const long page_bytes = sysconf(_SC_PAGESIZE);
  const std::size_t all_bytes =
      static_cast<std::size_t>(kRounds * kPages * page_bytes);
  void* pages = mmap(nullptr, all_bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return 3;
  madvise(pages, all_bytes, MADV_NOHUGEPAGE);
  pairs::Truths truths;
  Work work;
  std::uint64_t random =
      static_cast<std::uint64_t>(pairs::ClockNs(CLOCK_MONOTONIC));
  pairs::Truth second;
  for (int i = 0; i < kRounds; ++i) {
    Round(&random, static_cast<char*>(pages) + i * kPages * page_bytes,
          page_bytes, &work, &truths);
    if (i == kRounds / 2) {
      std::thread thread(SecondThread, &second);
      thread.join();
    }
  }
  truths["pairs:second"] = second;
  char more[640];
  std::snprintf(
      more, sizeof(more),
      ", \"functions\": {\"Half\": %lld, \"Third\": %lld, \"Fifth\": %lld},"
      " \"threads\": [2, 3], \"processes\": 1, \"system_calls\": {\"getppid\": "
      "%d}, \"uprobe\": %d, \"usdt\": %d, \"forks\": 1, "
      "\"touched\": {\"TouchPages\": %d}",
      static_cast<long long>(work.half_ns),
      static_cast<long long>(work.third_ns),
      static_cast<long long>(work.fifth_ns), kRounds * kSystemCalls,
      kRounds * kProbed, kRounds, kRounds * kPages);
  pairs::Print(truths, life, kRounds * kPages, more);
  return 0;
}
