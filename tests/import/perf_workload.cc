// A workload that perf and countrace record at the same time: N orders, each
// served by one of T threads, with work and with waiting in it.
//
// Usage: perf_workload ORDERS THREADS. Prints "PID ORDERS WEIGHINGS".
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "countrace/hooks.h"

// Functions to which probes are attached.
extern "C" {
__attribute__((noinline)) int ShopWeigh(int order) {
  COUNTRACE_SEGMENT("shop", "weigh");
  volatile int grams = 0;
  for (int i = 0; i < 2000; ++i) grams = grams + order;
  return grams;
}

__attribute__((noinline)) int ShopServe(int order) {
  COUNTRACE_SEGMENT("shop", "serve");
  int grams = 0;
  for (int i = 0; i <= order % 3; ++i) grams += ShopWeigh(order);
  usleep(500);
  // Memory that is touched for the first time.
  auto* parcel = static_cast<char*>(std::malloc(1 << 20));
  for (int i = 0; i < 1 << 20; i += 65536) parcel[i] = static_cast<char>(i);
  grams += parcel[65536];
  std::free(parcel);
  return grams;
}
}

int main(int argc, char** argv) {
  const int orders = argc > 1 ? std::atoi(argv[1]) : 10;
  const int threads = argc > 2 ? std::atoi(argv[2]) : 1;
  std::vector<std::thread> shop;
  for (int t = 0; t < threads; ++t) {
    shop.emplace_back([=] {
      for (int order = t; order < orders; order += threads) ShopServe(order);
    });
  }
  for (std::thread& one : shop) one.join();
  int weighings = 0;
  for (int order = 0; order < orders; ++order) weighings += order % 3 + 1;
  std::printf("%d %d %d\n", getpid(), orders, weighings);
  return 0;
}
