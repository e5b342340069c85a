// C++20 coroutines with a scope of one segment across their suspensions, in the
// order that the first argument names.
//
// usage: coroutine_workload nested|turns|threads ROUNDS
#include <countrace/hooks.h>

#include <coroutine>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <thread>

namespace {

struct Task {
  struct promise_type {
    Task get_return_object() {
      return {std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
  std::coroutine_handle<promise_type> handle;
};

// A compiler that sees the frame's whole life could put it onto the stack.
[[gnu::noinline]] Task Step() {
  COUNTRACE_SEGMENT("coro", "step");
  co_await std::suspend_always{};
}

[[gnu::noinline]] void Plain() {
  COUNTRACE_SEGMENT("coro", "plain");
  __asm__ volatile("" ::: "memory");
}

// Keeps the compiler from following what is resumed.
[[gnu::noinline]] void Resume(std::coroutine_handle<> handle) {
  __asm__ volatile("" : "+r"(handle));
  handle.resume();
}

void Round(const char* order) {
  const Task first = Step(), second = Step();
  Resume(first.handle);
  if (std::strcmp(order, "threads") == 0) {
    Resume(second.handle);
    // The other thread ends `first` while a call of its own is open.
    std::thread([&first] {
      const Task own = Step();
      Resume(own.handle);
      Resume(first.handle);
      Plain();
      Resume(own.handle);
      own.handle.destroy();
    }).join();
    Resume(second.handle);
  } else {
    Resume(second.handle);
    Plain();
    const bool turns = std::strcmp(order, "turns") == 0;
    Resume(turns ? first.handle : second.handle);
    Plain();
    Resume(turns ? second.handle : first.handle);
  }
  first.handle.destroy();
  second.handle.destroy();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  for (int rounds = std::atoi(argv[2]); rounds > 0; --rounds) Round(argv[1]);
  return 0;
}
