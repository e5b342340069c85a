// A program with LTTng-UST tracepoints and countrace hooks at the same places.
//
//   ust_workload ORDERS THREADS   serves ORDERS orders in each thread
//   ust_workload ticks N          N events shop:tick, as fast as they go
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include <countrace/hooks.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "ust_workload_tracepoints.h"

namespace {

volatile std::uint64_t g_sink = 0;

void Work(std::uint64_t rounds) {
  for (std::uint64_t i = 0; i < rounds; ++i) g_sink = g_sink + i;
}

// Causes page faults that counters count.
void TouchNewPages(int pages) {
  constexpr std::size_t kPage = 4096;
  const std::size_t bytes = static_cast<std::size_t>(pages) * kPage;
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  madvise(memory, bytes, MADV_NOHUGEPAGE);
  for (std::size_t at = 0; at < bytes; at += kPage) {
    static_cast<volatile char*>(memory)[at] = 1;
  }
  munmap(memory, bytes);
}

void Weigh(std::uint64_t order) {
  COUNTRACE_SEGMENT("shop", "weigh");
  lttng_ust_tracepoint(shop, weigh_begin);
  Work(200 + order % 7);
  lttng_ust_tracepoint(shop, weigh_end);
}

void Serve(std::uint64_t order) {
  COUNTRACE_SEGMENT("shop", "serve");
  lttng_ust_tracepoint(shop, serve_begin, order, "Ann");
  Work(300);
  TouchNewPages(3);
  for (std::uint64_t i = 0; i < order % 3; ++i) Weigh(order);
  const std::int32_t list[] = {1, -2, 3};
  lttng_ust_tracepoint(shop, everything, static_cast<int>(order % 100),
                       static_cast<double>(order) / 2, list,
                       order % 2 == 0 ? 3 : 0);
  lttng_ust_tracepoint(shop, serve_end, order);
}

void ServeAll(std::uint64_t first, std::uint64_t orders) {
  for (std::uint64_t i = 0; i < orders; ++i) Serve(first + i);
}

int Ticks(int n) {
  for (int i = 0; i < n; ++i) lttng_ust_tracepoint(shop, tick, i);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s ORDERS THREADS | ticks N\n", argv[0]);
    return 2;
  }
  if (std::strcmp(argv[1], "ticks") == 0) return Ticks(std::atoi(argv[2]));
  const std::uint64_t orders = std::strtoull(argv[1], nullptr, 10);
  const int threads = std::atoi(argv[2]);
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) {
    // Orders are taken in this sequence, and delivered below in another one.
    lttng_ust_tracepoint(shop, order_taken, 1000u + static_cast<unsigned>(i));
  }
  for (int i = 0; i < threads; ++i) {
    all.emplace_back([=] {
      ServeAll(static_cast<std::uint64_t>(i) * orders, orders);
      lttng_ust_tracepoint(shop, order_delivered,
                           1000u + static_cast<unsigned>(i));
    });
  }
  for (std::thread& thread : all) thread.join();
  return 0;
}
