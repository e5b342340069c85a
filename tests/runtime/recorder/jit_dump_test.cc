// Names of code made at run time, from files that a compiler writes, whole and
// damaged.
#include "base/code/jit_dump.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "runtime/recorder/samples/jit_dump_files.h"
#include "tests/support/property_runs.h"
#include "tests/support/trace_builder.h"

namespace countrace::runtime {
namespace {

using base::IsJitDumpPath;
using base::NameLimits;
using base::ReadJitDump;
using base::TimedFunction;

class Dump {
 public:
  explicit Dump(std::uint32_t magic = 0x4A695444, std::uint32_t version = 1) {
    for (const std::uint32_t word : {magic, version, 40u, 62u, 0u, 1u}) {
      Put(word);
    }
    Put(std::uint64_t{0});
    Put(std::uint64_t{0});
  }
  void Load(std::uint64_t address, std::uint64_t bytes, std::uint64_t index,
            const std::string& name, std::size_t code = 3) {
    Head(0, 40 + name.size() + 1 + code);
    for (const std::uint64_t word : {address, address, bytes, index}) Put(word);
    text_.append(name.c_str(), name.size() + 1);
    text_.append(code, '\xc3');
  }
  void Move(std::uint64_t from, std::uint64_t to, std::uint64_t bytes,
            std::uint64_t index) {
    Head(1, 48);
    for (const std::uint64_t word : {to, from, to, bytes, index}) Put(word);
  }
  void Other(std::uint32_t id, std::size_t bytes) {
    Head(id, bytes);
    text_.append(bytes - 8, 'x');
  }
  void SetTime(std::uint64_t time_ns) { time_ns_ = time_ns; }
  std::string& text() { return text_; }

  JitDump Read(const std::set<std::uint64_t>& addresses = {0x1000, 0x2000,
                                                           0x3000},
               NameLimits limits = NameLimits()) const {
    return ReadJitDump(base::ReadAtOf(text_), addresses, limits);
  }
  // The last one there; empty: there is none.
  std::string NameAt(std::uint64_t address) const {
    bool times_missing = false;
    const auto names = base::JitFunctionsAt(Read({address}), false, {},
                                            {address}, times_missing);
    return names.empty() ? "" : names.front().function.name;
  }

 private:
  template <typename T>
  void Put(T value) {
    text_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  void Head(std::uint32_t id, std::size_t body_bytes) {
    Put(id);
    Put(static_cast<std::uint32_t>(16 + body_bytes));
    Put(time_ns_);
    Put(1u);
    Put(1u);
  }
  std::uint64_t time_ns_ = 5;
  std::string text_;
};

TEST_CASE("jit dump: functions are named where they were made and moved to") {
  Dump dump;
  dump.Load(0x1000, 16, 1, "First(int)");
  dump.Other(2, 24);  // lines of the source
  dump.Load(0x2000, 16, 2, "Second", 200'000);
  dump.Move(0x1000, 0x3000, 16, 1);
  dump.Move(0x9000, 0x4000, 16, 77);  // never made
  dump.Load(0x2008, 4, 3, "InItsPlace");
  CHECK(dump.Read().status.ok());
  CHECK(dump.NameAt(0x1000) == "First(int)");
  CHECK(dump.NameAt(0x100f) == "First(int)");
  CHECK(dump.NameAt(0x1010).empty());
  CHECK(dump.NameAt(0x3001) == "First(int)");
  CHECK(dump.NameAt(0x4000).empty());
  // It was there until then.
  CHECK(dump.NameAt(0x2000) == "Second");
  CHECK(dump.NameAt(0x2008) == "InItsPlace");
}

TEST_CASE("jit dump: functions have the times of their records") {
  Dump dump;
  dump.Load(0x1000, 16, 1, "First");  // at 5
  dump.SetTime(9);
  dump.Move(0x1000, 0x3000, 16, 1);
  dump.SetTime(20);
  dump.Load(0x1008, 16, 2, "Second");
  const JitDump read = dump.Read({0x1008, 0x1017, 0x3000});
  CHECK(read.has_times);
  CHECK(read.first_ns == 5);
  CHECK(read.last_ns == 20);
  REQUIRE(read.history.size() == 3);
  CHECK(read.history[0].from_ns == 5);
  CHECK(read.history[0].until_ns == 9);
  CHECK(read.history[1].begin == 0x3000);
  CHECK(read.history[1].until_ns == TimedFunction::kOpenEnd);
  CHECK(read.history.At(0x1008) == std::vector<std::size_t>{0, 2});
  CHECK(read.history.At(0x1017) == std::vector<std::size_t>{2});
  dump.text()[32] = 1;  // ticks
  CHECK_FALSE(dump.Read().has_times);
}

TEST_CASE("jit dump: only addresses that matter have names") {
  for (unsigned seed = 0; seed < test_support::PropertyRuns(300u); ++seed) {
    std::mt19937 random(seed);
    Dump dump;
    std::vector<std::uint64_t> loaded;
    for (unsigned i = 0; i < 40; ++i) {
      dump.SetTime(10 + i);
      const std::uint64_t at = 0x1000 + random() % 64;
      if (i != 0 && random() % 4 == 0) {
        dump.Move(0x1000 + random() % 64, at, random() % 9,
                  loaded[random() % loaded.size()]);
      } else {
        dump.Load(at, random() % 9, i, "f" + std::to_string(i));
        loaded.push_back(i);
      }
    }
    std::set<std::uint64_t> all, some;
    for (std::uint64_t at = 0x1000; at < 0x1050; ++at) {
      all.insert(at);
      if (random() % 8 == 0) some.insert(at);
    }
    // The same as if all others were read, too.
    const JitDump of_all = dump.Read(all), of_some = dump.Read(some);
    INFO("seed " << seed);
    CHECK(of_some.history.size() <= of_all.history.size());
    for (const std::uint64_t at : some) {
      const auto expected = of_all.history.At(at), got = of_some.history.At(at);
      REQUIRE(expected.size() == got.size());
      for (std::size_t i = 0; i < got.size(); ++i) {
        const TimedFunction &a = of_all.history[expected[i]],
                            &b = of_some.history[got[i]];
        REQUIRE(a.name == b.name);
        REQUIRE(std::pair(a.begin, a.bytes) == std::pair(b.begin, b.bytes));
        REQUIRE(a.from_ns == b.from_ns);
        REQUIRE(a.until_ns == b.until_ns);
      }
    }
  }
}

TEST_CASE("jit dump: names have their room and their time") {
  const std::string name(4000, 'x');
  Dump dump, moved;
  for (std::uint64_t i = 0; i < 100; ++i) {
    dump.Load(0x1000, 16, i, name);
    moved.Load(0x9000, 16, i, name);
  }
  moved.Move(0x9000, 0x1000, 16, 99);
  const std::set<std::uint64_t> one = {0x1000};
  CHECK(dump.Read({0x5000}, NameLimits(100)).status.ok());
  const JitDump few = dump.Read(one, NameLimits(10 * 8300));
  CHECK(few.history.size() == 10);
  CHECK(few.status.message().find(
            "from byte 40640 on are missing: those of all "
            "processes together have at most 64 MiB") != std::string::npos);
  // Where the names lie takes room, too: 80 bytes each.
  CHECK(moved.Read(one, NameLimits(100 * 80 + 8300)).history.size() == 1);
  CHECK(moved.Read(one, NameLimits(100 * 80 + 8299)).history.size() == 0);
  const JitDump late =
      dump.Read(one, NameLimits(NameLimits::kBytes, std::chrono::seconds(0)));
  CHECK(absl::IsDeadlineExceeded(late.status));
  CHECK(late.history.size() < 100);
}

TEST_CASE("jit dump: what is behind the close record is not read") {
  Dump dump;
  dump.Other(3, 8);
  dump.Load(0x1000, 16, 1, "Late");
  CHECK(dump.Read().status.ok());
  CHECK(dump.NameAt(0x1000).empty());
}

TEST_CASE("jit dump: a file that is none says where and what") {
  const auto message = [](Dump dump) {
    return std::string(dump.Read().status.message());
  };
  Dump empty;
  empty.text().resize(39);
  CHECK(message(empty).find("byte 0 it has no whole head") == 3);
  CHECK(message(Dump(0x4454694A)).find("other byte order") !=
        std::string::npos);
  CHECK(message(Dump(7)).find("00000007, not 4a695444") != std::string::npos);
  CHECK(message(Dump(0x4A695444, 2)).find("version is 2, not 1") !=
        std::string::npos);
  Dump no_nul;
  no_nul.Load(0x1000, 16, 1, "Whole");
  const std::size_t end = no_nul.text().size();
  no_nul.Load(0x2000, 16, 2, std::string(20, 'x'), 0);
  no_nul.text().back() = 'x';
  CHECK(message(no_nul).find(
            absl::StrFormat("at byte %d a record of type 0", end)) == 0);
  CHECK(no_nul.NameAt(0x1000) == "Whole");
}

TEST_CASE("jit dump: a torn last record is not there") {
  Dump dump;
  dump.Load(0x1000, 16, 1, "Whole");
  const std::string whole = dump.text();
  dump.Load(0x2000, 16, 2, "Torn");
  const std::string both = dump.text();
  for (std::size_t size = whole.size(); size < both.size(); ++size) {
    dump.text() = both.substr(0, size);
    INFO(size);
    CHECK(dump.Read().status.ok());
    CHECK(dump.NameAt(0x1000) == "Whole");
  }
  dump.text() = whole + std::string(4096, '\0');  // not written yet
  CHECK(dump.Read().status.ok());
}

TEST_CASE("jit dump: a flipped byte costs at most the rest of the file") {
  Dump dump;
  dump.Load(0x1000, 16, 1, "First");
  dump.Load(0x2000, 16, 2, "Second");
  dump.Move(0x1000, 0x3000, 16, 1);
  const std::string whole = dump.text();
  for (unsigned seed = 0; seed < test_support::PropertyRuns(500u); ++seed) {
    std::mt19937 random(seed);
    dump.text() = whole;
    const std::size_t at = random() % whole.size();
    dump.text()[at] = static_cast<char>(random());
    const JitDump read = dump.Read();
    INFO("seed " << seed << " byte " << at);
    CHECK(read.history.size() <= 3);
    // Behind the first record: another function may now lie in its place.
    if (at >= 40 + 16 + 46 + 3) CHECK_FALSE(dump.NameAt(0x1000).empty());
  }
}

TEST_CASE("jit dump: paths") {
  CHECK(IsJitDumpPath("/tmp/jit-5.dump"));
  CHECK(IsJitDumpPath("/a/.debug/jit/a.b/jit-123.dump"));
  for (const char* other :
       {"", "jit-5.dump", "/tmp/jit-.dump", "/tmp/jit-5a.dump", "/tmp/jit-5",
        "/tmp/jit-5.dump/x", "/tmp/xjit-5.dump", "/tmp/jit-5.dump "}) {
    INFO(other);
    CHECK_FALSE(IsJitDumpPath(other));
  }
}

TEST_CASE("jit dump: only a regular file of the process's user is read") {
  const test_support::TempDirectory folder;
  const std::string path = folder.path() + "/jit-5.dump";
  Dump dump;
  dump.Load(0x1000, 16, 1, "First");
  std::ofstream(path) << dump.text();
  std::vector<std::string> messages;
  const auto named = [&](const std::string& file) {
    FileThread thread;
    JitDumps dumps(thread);
    dumps.OnMapping(getpid(), file);
    CHECK(thread.Finish(std::chrono::minutes(1)) == 0);
    NameLimits limits;
    return dumps.Read(getpid(), {0x1000}, limits, messages).history.size() == 1;
  };
  CHECK(named(path));
  const std::string link = folder.path() + "/jit-6.dump";
  std::filesystem::create_symlink(path, link);
  CHECK_FALSE(named(link));
  const std::string pipe = folder.path() + "/jit-7.dump";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  CHECK_FALSE(named(pipe));
  CHECK_FALSE(named(folder.path() + "/jit-8.dump"));
  if (geteuid() == 0) {
    REQUIRE(chown(path.c_str(), 65534, 65534) == 0);
    CHECK_FALSE(named(path));
  }
  CHECK(messages.empty());
}

}  // namespace
}  // namespace countrace::runtime
