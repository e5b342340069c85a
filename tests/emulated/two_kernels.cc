// One of two kernels that exchange numbered requests over a serial line. Every
// eighth has hooks: `rpc:call` where it is sent, `rpc:handle` where it is
// received, both with its number.
//
//   two_kernels answer TTY     at the serial line
//   two_kernels ask SOCKET     that the machine has as its serial line
//
// `ask` prints four numbers a request: the request's, and what the clocks
// showed here before it was sent, there when it was handled, and here when the
// answer was read. It ends when these tell the difference of the speeds within
// 20 ppm.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <termios.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string_view>

#include <countrace/hooks.h>

namespace {

constexpr std::uint64_t kHello = 0, kEnd = ~std::uint64_t{0};
constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kFirst = 3 * kSecond, kLeast = 15 * kSecond,
                       kMost = 300 * kSecond;
constexpr double kKnown = 20e-6;
constexpr timespec kBetween = {0, 5'000'000};
// The others are only printed: what is known without the recordings.
constexpr std::uint64_t kRecorded = 8;

[[noreturn]] void Fail(const char* what) {
  std::perror(what);
  std::exit(1);
}

struct Answer {
  std::uint64_t number;
  std::int64_t time_ns;
};

std::int64_t NowNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * kSecond + now.tv_nsec;
}

template <class T>
T Read(int line) {
  T value;
  auto* const bytes = reinterpret_cast<char*>(&value);
  for (std::size_t size = 0; size < sizeof value;) {
    const ssize_t more = read(line, bytes + size, sizeof value - size);
    if (more <= 0) Fail("the serial line ended");
    size += static_cast<std::size_t>(more);
  }
  return value;
}
template <class T>
void Write(int line, const T& value) {
  if (write(line, &value, sizeof value) != sizeof value) Fail("write");
}

int AnswerAt(const char* path) {
  const int line = open(path, O_RDWR | O_NOCTTY);
  termios raw{};
  if (line < 0 || tcgetattr(line, &raw) != 0) Fail(path);
  cfmakeraw(&raw);
  raw.c_cflag |= CLOCAL;
  if (tcsetattr(line, TCSAFLUSH, &raw) != 0) Fail(path);
  Write(line, kHello);
  for (std::uint64_t number = 0; number != kEnd;) {
    number = Read<std::uint64_t>(line);
    const bool recorded = number % kRecorded == 0;
    if (recorded) COUNTRACE_ENTER("rpc", "handle", number);
    Write(line, Answer{number, NowNs()});
    if (recorded) COUNTRACE_EXIT("rpc", "handle");
  }
  return 0;
}

int Connect(const char* path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path, sizeof address.sun_path - 1);
  const int line = socket(AF_UNIX, SOCK_STREAM, 0);
  for (int tries = 0; tries < 60'000; ++tries) {
    if (connect(line, reinterpret_cast<sockaddr*>(&address), sizeof address) ==
        0) {
      return line;
    }
    nanosleep(&kBetween, nullptr);  // the machine has not begun
  }
  Fail(path);
}

// The clock there was read between the two readings here.
struct Trip {
  std::int64_t sent_ns = 0, answered_ns = INT64_MAX;
  std::int64_t width() const { return answered_ns - sent_ns; }
};

int Ask(const char* path) {
  const int line = Connect(path);
  if (Read<std::uint64_t>(line) != kHello) Fail("hello");
  const std::int64_t begin = NowNs();
  Trip early, late;  // the shortest ones
  for (std::uint64_t number = 1;; ++number) {
    Trip trip;
    trip.sent_ns = NowNs();
    const bool recorded = number % kRecorded == 0;
    if (recorded) COUNTRACE_ENTER("rpc", "call", number);
    Write(line, number);
    const auto answer = Read<Answer>(line);
    if (recorded) COUNTRACE_EXIT("rpc", "call");
    trip.answered_ns = NowNs();
    if (answer.number != number) Fail("another answer");
    std::printf("%llu %lld %lld %lld\n",
                static_cast<unsigned long long>(number),
                static_cast<long long>(trip.sent_ns),
                static_cast<long long>(answer.time_ns),
                static_cast<long long>(trip.answered_ns));
    const std::int64_t since = trip.sent_ns - begin;
    Trip* const best = since < kFirst   ? &early
                       : since > kLeast ? &late
                                        : nullptr;
    if (recorded && best != nullptr && trip.width() < best->width()) {
      *best = trip;
    }
    const auto known =
        static_cast<double>(early.width() / 2 + late.width() / 2);
    if (since > kMost ||
        (since > kLeast &&
         known < kKnown * static_cast<double>(late.sent_ns - early.sent_ns))) {
      break;
    }
    nanosleep(&kBetween, nullptr);
  }
  Write(line, kEnd);
  // QEMU forgets what has not arrived when the socket is closed.
  if (Read<Answer>(line).number != kEnd) Fail("end");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc == 3 ? argv[1] : "";
  if (what == "answer") return AnswerAt(argv[2]);
  if (what == "ask") return Ask(argv[2]);
  std::fprintf(stderr, "usage: two_kernels {answer TTY|ask SOCKET}\n");
  return 2;
}
