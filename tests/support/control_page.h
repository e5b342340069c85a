// A process with hooks, as its control page shows it: this one, with a thread
// that answers each request as a test says.
#ifndef COUNTRACE_TESTS_SUPPORT_CONTROL_PAGE_H_
#define COUNTRACE_TESTS_SUPPORT_CONTROL_PAGE_H_

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "runtime/control_layout.h"

namespace countrace::test_support {

class AnsweringProcess {
 public:
  // `answer` fills the page, on the thread.
  explicit AnsweringProcess(std::function<void(runtime::ControlPage&)> answer)
      : answer_(std::move(answer)) {
    const int file =
        open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0 || ftruncate(file, runtime::kControlPageBytes) != 0) {
      std::abort();
    }
    void* const page = mmap(nullptr, runtime::kControlPageBytes,
                            PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (page == MAP_FAILED) std::abort();
    page_ = static_cast<runtime::ControlPage*>(page);
    page_->magic = runtime::kControlMagic;
    page_->bytes = sizeof(runtime::ControlPage);
    page_->pid = getpid();
    thread_ = std::thread([this] { Run(); });
  }
  AnsweringProcess(const AnsweringProcess&) = delete;
  AnsweringProcess& operator=(const AnsweringProcess&) = delete;
  ~AnsweringProcess() {
    end_ = true;
    page_->request.fetch_xor(~runtime::kRequestNumberMask);  // wakes it
    Wake(page_->request);
    thread_.join();
    munmap(page_, runtime::kControlPageBytes);
    unlink(path_.c_str());
  }

  // To change while no request is being answered.
  runtime::ControlPage& page() { return *page_; }

 private:
  static void Wake(std::atomic<std::uint32_t>& word) {
    syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  }

  void Run() {
    std::uint32_t seen = 0;
    while (!end_) {
      // The controller writes the request's body before its number.
      const std::uint32_t request =
          page_->request.load(std::memory_order_acquire);
      if (request == seen) {
        syscall(SYS_futex, &page_->request, FUTEX_WAIT, seen, nullptr, nullptr,
                0);
        continue;
      }
      seen = request;
      if (end_) return;
      answer_(*page_);
      // The controller reads the answer after it.
      page_->reply.store(request, std::memory_order_release);
      Wake(page_->reply);
    }
  }

  const std::function<void(runtime::ControlPage&)> answer_;
  const std::string path_ = std::string(runtime::kControlFolders[0]) + "/" +
                            runtime::kControlPrefix + std::to_string(getpid());
  runtime::ControlPage* page_ = nullptr;
  std::atomic<bool> end_ = false;
  std::thread thread_;
};

}  // namespace countrace::test_support

#endif  // COUNTRACE_TESTS_SUPPORT_CONTROL_PAGE_H_
