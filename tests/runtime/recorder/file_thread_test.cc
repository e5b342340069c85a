// Work for files beside the draining of rings: turns, limits, and work that
// never ends.
#include "runtime/recorder/samples/file_thread.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <future>
#include <memory>
#include <mutex>
#include <vector>

namespace countrace::runtime {
namespace {

constexpr std::chrono::minutes kLong(1);

TEST_CASE("file thread: all work is done, in each process's order") {
  FileThread thread;
  const auto done = std::make_shared<std::vector<int>>();
  for (int i = 0; i < 100; ++i) {
    REQUIRE(thread.Add(7, [=] {
      done->push_back(i);
      return std::uint64_t{0};
    }));
  }
  CHECK(thread.Finish(kLong) == 0);
  REQUIRE(done->size() == 100);
  for (int i = 0; i < 100; ++i) CHECK((*done)[i] == i);
  CHECK(thread.Finish(kLong) == 0);
}

TEST_CASE(
    "file thread: a process that has had its bytes waits, others do not") {
  FileThread thread;
  struct Done {
    std::atomic<int> greedy{0}, modest{0};
  };
  const auto done = std::make_shared<Done>();
  std::promise<void> begun;
  const auto go =
      std::make_shared<std::shared_future<void>>(begun.get_future());
  thread.Add(1, [go] {
    go->wait();
    return std::uint64_t{0};
  });
  // Each takes all that a process has in a second.
  for (int i = 0; i < 20; ++i) {
    thread.Add(2, [done] {
      ++done->greedy;
      return FileThread::kMostBytes;
    });
    thread.Add(3, [done] {
      ++done->modest;
      return std::uint64_t{4096};
    });
  }
  begun.set_value();
  // Within a second or two all of the one, and a few of the other.
  const std::size_t left = thread.Finish(std::chrono::seconds(2));
  CHECK(done->modest == 20);
  CHECK(done->greedy < 10);
  // The one that ran when the time was over is left, and done.
  const std::size_t both = left + static_cast<std::size_t>(done->greedy);
  CHECK((both == 20 || both == 21));
  // What is left is never done.
  CHECK(thread.Finish(kLong) == 0);
  CHECK(done->greedy < 10);
}

TEST_CASE("file thread: work that does not end delays no one at the end") {
  std::promise<void> never;
  const auto stuck =
      std::make_shared<std::shared_future<void>>(never.get_future());
  const auto done = std::make_shared<std::atomic<int>>(0);
  {
    FileThread thread;
    thread.Add(1, [stuck] {
      stuck->wait();
      return std::uint64_t{0};
    });
    std::size_t taken = 0;
    for (std::size_t i = 0; i < 2 * FileThread::kMostWaiting; ++i) {
      taken += thread.Add(2, [done] {
        ++*done;
        return std::uint64_t{0};
      });
    }
    // One process has a limited queue, and another one its own.
    CHECK(taken == FileThread::kMostWaiting);
    CHECK(thread.Add(3, [] { return std::uint64_t{0}; }));
    CHECK(thread.Finish(std::chrono::milliseconds(10)) >= taken + 1);
  }
  CHECK(*done == 0);
  never.set_value();  // the thread ends by itself
}

}  // namespace
}  // namespace countrace::runtime
