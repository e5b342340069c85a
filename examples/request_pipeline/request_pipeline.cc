// A small server in one process: a client thread makes requests, workers parse
// them, look them up in a cache behind one lock and render an answer into fresh
// memory, a writer thread stores the answers.
//
//   generate -> [requests] -> request { parse, lookup, render } -> [answers]
//     -> write
//
// Usage: request_pipeline [REQUESTS [WORKERS]]. At the end it prints for each
// segment how often it ran: `segment calls`. Try
//   countrace record -a -o pipeline.ctf -- ./request_pipeline
//   countrace report pipeline.ctf
//   countrace report --by level pipeline.ctf
#include <countrace/hooks.h>
#include <sys/mman.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bounded_queue.h"
#include "true_counts.h"

namespace {

constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kPagesPerAnswer = 16;
constexpr std::uint64_t kItems = 64;

struct Request {
  std::uint64_t id;
  std::string text;
};
struct Answer {
  std::uint64_t id;
  std::uint64_t checksum;
};

TrueCounts g_true;

class Cache {
 public:
  // Returns the cached value of `key`, computed the first time.
  std::uint64_t Lookup(std::uint64_t key) {
    COUNTRACE_SEGMENT("server", "lookup", key);
    ++g_true.lookup;
    const std::lock_guard lock(mutex_);
    const auto [entry, is_new] = values_.try_emplace(key, 0);
    if (is_new) {
      // Up from the first key to the last one.
      COUNTRACE_PROCESS_LEVEL("server", "cold_cache", values_.size() < kItems);
      std::uint64_t value = key + 1;
      for (int i = 0; i < 20000; ++i) value = value * 6364136223846793005u + 1;
      entry->second = value;
    }
    return entry->second;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, std::uint64_t> values_;
};

Request Generate(std::uint64_t id) {
  COUNTRACE_SEGMENT("client", "generate", id);
  ++g_true.generate;
  return {id, "GET /item/" + std::to_string(id % kItems) +
                  "?page=" + std::to_string(id)};
}

std::uint64_t Parse(const Request& request) {
  COUNTRACE_SEGMENT("server", "parse", request.id, request.text.size());
  ++g_true.parse;
  const std::size_t digits = request.text.find_last_of('/') + 1;
  return std::strtoull(request.text.c_str() + digits, nullptr, 10);
}

// The function with page faults: every page of the answer is new.
std::uint64_t Render(std::uint64_t seed) {
  COUNTRACE_SEGMENT("server", "render");
  ++g_true.render;
  constexpr std::size_t kBytes = kPagesPerAnswer * kPageBytes;
  void* const memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    std::perror("request_pipeline: mmap");
    std::exit(1);
  }
  auto* const words = static_cast<std::uint64_t*>(memory);
  std::uint64_t checksum = 0;
  for (std::size_t i = 0; i < kBytes / sizeof(*words); ++i) {
    words[i] = seed = seed * 2862933555777941757u + 3037000493u;
    checksum ^= words[i];
  }
  munmap(memory, kBytes);
  return checksum;
}

Answer Handle(const Request& request, Cache& cache) {
  COUNTRACE_SEGMENT("server", "request", request.id);
  ++g_true.request;
  const std::uint64_t key = Parse(request);
  return {request.id, Render(cache.Lookup(key))};
}

void Store(const Answer& answer, std::uint64_t& total) {
  COUNTRACE_SEGMENT("store", "write", answer.id);
  ++g_true.write;
  total ^= answer.checksum;
  // A slow disk: at times the writer sleeps, off the CPU, inside a segment.
  if (answer.id % 64 == 0) {
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

void Run(std::uint64_t requests, unsigned workers) {
  BoundedQueue<Request> request_queue(64);
  BoundedQueue<Answer> answer_queue(64);
  Cache cache;

  std::thread client([&] {
    for (std::uint64_t id = 0; id < requests; ++id) {
      const std::size_t depth = request_queue.Push(Generate(id));
      COUNTRACE_HOOK("queue", "depth", depth);
    }
    request_queue.Close();
  });
  std::vector<std::thread> pool;
  for (unsigned i = 0; i < workers; ++i) {
    pool.emplace_back([&] {
      while (const auto request = request_queue.Pop()) {
        answer_queue.Push(Handle(*request, cache));
      }
    });
  }
  std::uint64_t total = 0;
  std::thread writer([&] {
    while (const auto answer = answer_queue.Pop()) Store(*answer, total);
  });

  client.join();
  for (std::thread& worker : pool) worker.join();
  answer_queue.Close();
  writer.join();
  std::printf("# checksum %016llx, %zu fresh pages in each server:render\n",
              static_cast<unsigned long long>(total), kPagesPerAnswer);
  g_true.Print();
}

// Returns `fallback` if the argument is missing, exits if it is no number > 0.
std::uint64_t Argument(int argc, char** argv, int index,
                       std::uint64_t fallback) {
  if (index >= argc) return fallback;
  char* end = nullptr;
  const std::uint64_t value = std::strtoull(argv[index], &end, 10);
  if (value == 0 || *end != '\0') {
    std::fprintf(stderr, "request_pipeline: not a number above 0: %s\n",
                 argv[index]);
    std::exit(2);
  }
  return value;
}

}  // namespace

int main(int argc, char** argv) {
  Run(Argument(argc, argv, 1, 20000),
      static_cast<unsigned>(Argument(argc, argv, 2, 3)));
}
