// Programs whose functions' shares are known.
//
// usage: samples_workload cpu MILLISECONDS [REPEATS]
//          three functions that use 50, 30 and 20 % of that CPU time, measured
//          by the thread's own clock; prints the nanoseconds of each
//        samples_workload --bench
//          the same, for 300 milliseconds
//        samples_workload inlined MILLISECONDS
//          the same, but that the first of them, Host, does its work in SpinIn,
//          which is inlined into it, by way of SpinThrough
//        samples_workload threads MILLISECONDS
//          BurnHalf for that CPU time in the thread `half`, BurnThird for half
//          of it in the thread `third`; prints the nanoseconds and the tids
//        samples_workload pages MANY FEW
//          two functions that touch so many fresh pages
//        samples_workload vdso MILLISECONDS
//          reads the clock, which is code of the vdso
//        samples_workload code MILLISECONDS [wait]
//          runs code that it wrote into memory itself, and describes it in
//          /tmp/perf-PID.map; wait: then reads a byte of its input first
//        samples_workload dump MILLISECONDS FOLDER [wait]
//          the same, described in FOLDER/jit-PID.dump, for half of the time at
//          one address and then at another one; prints the file's name. wait:
//          reads a byte of its input when it has described both
//        samples_workload reuse MILLISECONDS FOLDER
//          the same with two functions at one address: Early for half of the
//          time, then Late for 30 %; then again Early, which was moved
#include <elf.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <initializer_list>
#include <thread>

#if defined(USE_HOOKS)
#include "countrace/hooks.h"
#else
#define COUNTRACE_SEGMENT(provider, name)
#endif

namespace {

volatile std::uint64_t sink;

std::uint64_t ThreadNs() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace

// Rarely reads the clock: a sample in the C library, which has no frame
// pointers, misses the function that called it.
#define BURN(name)                                                 \
  __attribute__((noinline)) std::uint64_t name(std::uint64_t ns) { \
    const std::uint64_t begin = ThreadNs();                        \
    std::uint64_t now = begin;                                     \
    while (now - begin < ns) {                                     \
      for (int i = 0; i < 300'000; ++i) sink = sink * 3 + 1;       \
      now = ThreadNs();                                            \
    }                                                              \
    return now - begin;                                            \
  }
BURN(BurnHalf)
BURN(BurnThird)
BURN(BurnFifth)

__attribute__((always_inline)) inline void SpinIn() {
  for (int i = 0; i < 300'000; ++i) {
    sink = sink * 3 + 1;  // the line of SpinIn
  }
}
__attribute__((always_inline)) inline void SpinThrough() {
  SpinIn();  // the line of SpinThrough
}
__attribute__((noinline)) std::uint64_t Host(std::uint64_t ns) {
  const std::uint64_t begin = ThreadNs();
  std::uint64_t now = begin;
  while (now - begin < ns) {
    SpinThrough();  // the line of Host
    now = ThreadNs();
  }
  return now - begin;
}

__attribute__((noinline)) void TouchMany(char* at, long pages, long page) {
  for (long i = 0; i < pages; ++i) at[i * page] = 1;
}
__attribute__((noinline)) void TouchFew(char* at, long pages, long page) {
  for (long i = 0; i < pages; ++i) at[i * page] = 2;
}

__attribute__((noinline)) void AskForTime(std::uint64_t ns) {
  const std::uint64_t begin = ThreadNs();
  do {
    timespec now;
    for (int i = 0; i < 100'000; ++i) clock_gettime(CLOCK_MONOTONIC, &now);
  } while (ThreadNs() - begin < ns);
}

namespace {

std::uint64_t Half(std::uint64_t ns) {
  COUNTRACE_SEGMENT("samples", "half");
  return BurnHalf(ns);
}

// `first` has half of the time.
int Cpu(std::uint64_t ns, const char* name,
        std::uint64_t (*first)(std::uint64_t)) {
  std::uint64_t half = 0, third = 0, fifth = 0;
  for (int i = 0; i < 10; ++i) {
    half += first(ns / 20);
    third += BurnThird(ns * 3 / 100);
    fifth += BurnFifth(ns / 50);
  }
  std::printf("{\"%s\": %llu, \"BurnThird\": %llu, \"BurnFifth\": %llu}\n",
              name, static_cast<unsigned long long>(half),
              static_cast<unsigned long long>(third),
              static_cast<unsigned long long>(fifth));
  return 0;
}

int Threads(std::uint64_t ns) {
  struct Work {
    const char* name;
    std::uint64_t (*burn)(std::uint64_t);
    std::uint64_t ns;
    int tid = 0;
  };
  Work half = {"half", BurnHalf, ns}, third = {"third", BurnThird, ns / 2};
  const auto run = [](Work* work) {
    pthread_setname_np(pthread_self(), work->name);
    work->tid = gettid();
    work->ns = work->burn(work->ns);
  };
  std::thread one(run, &half), other(run, &third);
  one.join();
  other.join();
  std::printf(
      "{\"half\": %d, \"third\": %d, \"BurnHalf\": %llu, \"BurnThird\": "
      "%llu}\n",
      half.tid, third.tid, static_cast<unsigned long long>(half.ns),
      static_cast<unsigned long long>(third.ns));
  return 0;
}

char* Fresh(long bytes) {
  void* const at =
      mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) std::abort();
  // Each page has its own fault.
  madvise(at, static_cast<std::size_t>(bytes), MADV_NOHUGEPAGE);
  return static_cast<char*>(at);
}

int Pages(long many, long few) {
  const long page = sysconf(_SC_PAGESIZE);
  TouchMany(Fresh(many * page), many, page);
  TouchFew(Fresh(few * page), few, page);
  return 0;
}

#if defined(__x86_64__)
// mov ecx, 300000; dec ecx; jnz -4; ret
constexpr unsigned char kCode[] = {0xb9, 0xe0, 0x93, 0x04, 0x00,
                                   0xff, 0xc9, 0x75, 0xfc, 0xc3};

char* MakeCode() {
  void* const at = mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) std::abort();
  std::memcpy(at, kCode, sizeof(kCode));
  return static_cast<char*>(at);
}

void RunCode(const char* at, std::uint64_t ns) {
  const std::uint64_t begin = ThreadNs();
  while (ThreadNs() - begin < ns) reinterpret_cast<void (*)()>(at)();
}
#endif

// Until the file that describes the code has been changed.
void AwaitByte() {
  char byte;
  if (read(STDIN_FILENO, &byte, 1) != 1) std::abort();
}

int Code(std::uint64_t ns, bool waits) {
#if defined(__x86_64__)
  char* const at = MakeCode();
  char path[64];
  std::snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
  std::FILE* const map = std::fopen(path, "w");
  if (map == nullptr) return 1;
  std::fprintf(map, "%zx %zx MadeAtRunTime one\n",
               reinterpret_cast<std::size_t>(at), sizeof(kCode));
  std::fclose(map);
  if (waits) AwaitByte();
  RunCode(at, ns);
  std::puts(path);
#else
  (void)ns, (void)waits, (void)AwaitByte;
#endif
  return 0;
}

#if defined(__x86_64__)
// A jit-PID.dump in `folder`, as the kernel's
// tools/perf/Documentation/jitdump-specification.txt says.
class DumpFile {
 public:
  explicit DumpFile(const char* folder) {
    std::snprintf(path_, sizeof(path_), "%s/jit-%d.dump", folder, getpid());
    const int fd = open(path_, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    out_ = fdopen(fd, "w");
    if (out_ == nullptr) std::abort();
    Put(0x4A695444, 4);
    for (const std::uint64_t word : {1, 40, EM_X86_64, 0, getpid()}) {
      Put(word, 4);
    }
    Put(0, 8);
    Put(0, 8);
    std::fflush(out_);
    // So a tracer sees the file.
    if (mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) ==
        MAP_FAILED) {
      std::abort();
    }
  }
  void Load(const char* at, const char* name, std::uint64_t index) {
    const std::size_t name_bytes = std::strlen(name) + 1;
    Head(0, 40 + name_bytes + sizeof(kCode));
    for (const std::uint64_t word :
         {Number(at), Number(at), sizeof(kCode), index}) {
      Put(word, 8);
    }
    std::fwrite(name, name_bytes, 1, out_);
    std::fwrite(kCode, sizeof(kCode), 1, out_);
    std::fflush(out_);
  }
  void Move(const char* from, const char* to, std::uint64_t index) {
    Head(1, 48);
    for (const std::uint64_t word :
         {Number(to), Number(from), Number(to), sizeof(kCode), index}) {
      Put(word, 8);
    }
    std::fflush(out_);
  }
  const char* path() const { return path_; }

 private:
  static std::uint64_t Number(const char* at) {
    return reinterpret_cast<std::uint64_t>(at);
  }
  void Put(std::uint64_t value, std::size_t bytes) {
    std::fwrite(&value, bytes, 1, out_);
  }
  void Head(std::uint32_t kind, std::size_t bytes) {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    Put(kind, 4);
    Put(16 + bytes, 4);
    Put(static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
            static_cast<std::uint64_t>(now.tv_nsec),
        8);
    Put(static_cast<std::uint64_t>(getpid()), 4);
    Put(static_cast<std::uint64_t>(gettid()), 4);
  }
  char path_[512];
  std::FILE* out_ = nullptr;
};
#endif

int Dump(std::uint64_t ns, const char* folder, bool waits) {
#if defined(__x86_64__)
  DumpFile dump(folder);
  char* const first = MakeCode();
  dump.Load(first, "DumpedAtRunTime(int)", 7);
  RunCode(first, ns / 2);
  char* const second = MakeCode();
  dump.Move(first, second, 7);
  if (waits) AwaitByte();
  RunCode(second, ns / 2);
  std::puts(dump.path());
#else
  (void)ns, (void)folder, (void)waits;
#endif
  return 0;
}

int Reuse(std::uint64_t ns, const char* folder) {
#if defined(__x86_64__)
  DumpFile dump(folder);
  char* const first = MakeCode();
  char* const second = MakeCode();
  dump.Load(first, "Early", 1);
  RunCode(first, ns / 2);
  dump.Move(first, second, 1);
  dump.Load(first, "Late", 2);
  RunCode(first, ns * 3 / 10);
  RunCode(second, ns / 5);
  std::puts(dump.path());
#else
  (void)ns, (void)folder;
#endif
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--bench") == 0) {
    return Cpu(300'000'000, "BurnHalf", Half);
  }
  if (argc < 3) return 2;
  const long first = std::atol(argv[2]);
  const auto ns = static_cast<std::uint64_t>(first) * 1'000'000;
  const bool waits = std::strcmp(argv[argc - 1], "wait") == 0;
  if (waits) --argc;
  if (std::strcmp(argv[1], "cpu") == 0) return Cpu(ns, "BurnHalf", Half);
  if (std::strcmp(argv[1], "threads") == 0) return Threads(ns);
  if (std::strcmp(argv[1], "inlined") == 0) return Cpu(ns, "Host", Host);
  if (std::strcmp(argv[1], "pages") == 0 && argc == 4) {
    return Pages(first, std::atol(argv[3]));
  }
  if (std::strcmp(argv[1], "vdso") == 0) {
    AskForTime(ns);
    return 0;
  }
  if (std::strcmp(argv[1], "dump") == 0 && argc == 4) {
    return Dump(ns, argv[3], waits);
  }
  if (std::strcmp(argv[1], "reuse") == 0 && argc == 4) {
    return Reuse(ns, argv[3]);
  }
  return std::strcmp(argv[1], "code") == 0 ? Code(ns, waits) : 2;
}
