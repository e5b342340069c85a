// Sums of samples against stacks that are known, and shares against their
// intervals.
#include "rmap/samples/sums/sample_sums.h"
#include "rmap/samples/sums/sampled_amount.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "logformat/sample_points.h"
#include "rmap/samples/names/symbolizer.h"
#include "rmap/samples/rows/call_tree.h"
#include "rmap/samples/rows/function_rows.h"
#include "tests/support/property_runs.h"

namespace countrace::rmap {
namespace {

using logformat::SamplePoint;

constexpr std::uint32_t kFirst = logformat::kHookIdKernelMin;

logformat::TraceInfo InfoWithPoints() {
  logformat::TraceInfo info;
  std::uint32_t id = kFirst;
  for (const auto& [point, name] :
       {std::pair{SamplePoint::kSample, "cpu-clock"},
        std::pair{SamplePoint::kFrame, ""}, std::pair{SamplePoint::kFile, ""},
        std::pair{SamplePoint::kSymbol, ""}, std::pair{SamplePoint::kCount, ""},
        std::pair{SamplePoint::kTimedSymbol, ""}}) {
    info.hooks.push_back(logformat::DescribeSamplePoint(point, name, "199 Hz"));
    info.hooks.back().id = id++;
  }
  return info;
}

// Feeds records as a reader does.
class Feeder {
 public:
  explicit Feeder(SampleSums& sums) : sums_(sums) {}

  void Define(std::uint32_t point, std::uint32_t stream,
              const std::vector<std::uint64_t>& numbers,
              const std::vector<std::string>& texts = {}, std::size_t cut = 0) {
    Make(point, stream, numbers, texts, cut);
    sums_.Define(record_);
  }
  void Sample(std::uint32_t stream, std::uint64_t period, std::uint64_t stack,
              const SampleContext& context, std::uint64_t time_ns = 0) {
    Make(0, stream, {period, stack}, {}, 0);
    record_.time_ns = time_ns;
    sums_.Add(record_, context);
  }

 private:
  void Make(std::uint32_t point, std::uint32_t stream,
            const std::vector<std::uint64_t>& numbers,
            const std::vector<std::string>& texts, std::size_t cut) {
    bytes_.assign(8, std::byte{0});
    const auto body = logformat::SampleRecordBody(0, numbers, texts);
    bytes_.insert(bytes_.end(), body.begin(), body.end());
    for (std::size_t i = 0; i < cut; ++i) bytes_.pop_back();
    record_ = {};
    record_.stream = stream;
    record_.event_id = static_cast<std::uint16_t>((kFirst + point) * 2);
    record_.bytes = bytes_;
  }
  SampleSums& sums_;
  std::vector<std::byte> bytes_;
  logformat::EventRecord record_{};
};

TEST_CASE("sample sums: a file has the build id of its last record") {
  SampleSums sums(InfoWithPoints());
  Feeder feeder(sums);
  feeder.Define(2, 0, {1}, {"-", "/bin/program"});
  feeder.Define(1, 0, {1, 0, 1, 0x10});
  feeder.Sample(0, 7, 1, {}, 1);
  feeder.Define(2, 1, {1}, {"-", "/bin/program"});
  feeder.Define(2, 0, {1}, {"abcd", "/bin/program"});
  const Samples all = sums.Take();
  REQUIRE(all.sums.size() == 1);
  const CodeFile& file = all.files[all.frames[all.sums[0].frame].file];
  CHECK(file.path == "/bin/program");
  CHECK(file.build_id == "abcd");
}

TEST_CASE("sample sums: code has the name that it had at a sample's time") {
  SampleSums sums(InfoWithPoints());
  Feeder feeder(sums);
  feeder.Define(2, 0, {1}, {"-", "/bin/program"});
  feeder.Define(2, 0, {2}, {"-", logformat::kJitCode});
  feeder.Define(2, 0, {3}, {"-", logformat::kKernelCode});
  feeder.Define(1, 0, {1, 0, 1, 0x10});    // outermost
  feeder.Define(1, 0, {2, 1, 2, 0x1000});  // at run time
  feeder.Define(1, 0, {3, 2, 3, 0x9000});  // the kernel, called by it
  feeder.Define(1, 0, {4, 1, 2, 0x2000});  // never used again
  for (const std::uint64_t time : {1, 10, 19, 20, 29, 30, 99}) {
    feeder.Sample(0, 7, 3, {}, time);
    feeder.Sample(0, 1, 4, {}, time);
  }
  constexpr std::uint64_t kEnd = ~std::uint64_t{0};
  feeder.Define(3, 0, {2, 0x2000, 16}, {"Plain"});
  // They come behind the samples. The third one has other addresses, too, the
  // fourth one another file.
  feeder.Define(5, 0, {2, 0x1000, 16, 0, 10}, {"First"});
  feeder.Define(5, 0, {2, 0x1000, 4, 10, 20}, {"Second"});
  feeder.Define(5, 0, {2, 0xf00, 0x200, 30, kEnd}, {"Third"});
  feeder.Define(5, 0, {3, 0x1000, 16, 0, kEnd}, {"Other"});
  // Damage.
  feeder.Define(5, 0, {2, 0xfff, kEnd, 5, 1}, {"Never"});
  feeder.Define(5, 0, {2, 0x1000, 16, 0, kEnd}, {}, 9);
  const Samples all = sums.Take();
  CodePlaces places(all, SampleBy::kFunction);
  std::map<std::string, std::uint64_t> hits;
  for (const SampleSum& sum : all.sums) {
    std::string chain;
    for (std::uint32_t frame = sum.frame; frame != 0;
         frame = all.frames[frame].parent) {
      chain += places[places.Of(frame)[0]].function + " ";
    }
    hits[chain] += sum.hits;
  }
  const std::string by = " [stripped] ";
  CHECK(hits ==
        std::map<std::string, std::uint64_t>{{"[kernel] First" + by, 1},
                                             {"[kernel] Second" + by, 2},
                                             {"[kernel] [jit]" + by, 2},
                                             {"[kernel] Third" + by, 2},
                                             {"Plain" + by, 7}});
  // The same again.
  CHECK(sums.Take().sums.size() == all.sums.size());
}

TEST_CASE("sample sums: stacks of all streams add up as they were") {
  for (unsigned seed = 0; seed < test_support::PropertyRuns(100u); ++seed) {
    std::mt19937 random(seed);
    SampleSums sums(InfoWithPoints());
    Feeder feeder(sums);
    for (std::uint64_t file = 0; file < 3; ++file) {
      feeder.Define(2, 0, {file}, {"-", "/lib/" + std::to_string(file)});
    }
    // Innermost first: file and address.
    using Stack = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
    std::map<std::tuple<std::uint32_t, Stack>, std::uint64_t> truth;
    struct Frame {
      std::uint64_t id;
      Stack stack;
    };
    std::vector<std::vector<Frame>> frames(3, {{0, {}}});
    std::vector<std::uint64_t> last(3, 0);
    for (int i = 0; i < 300; ++i) {
      const auto stream = static_cast<std::uint32_t>(random() % 3);
      std::vector<Frame>& known = frames[stream];
      if (random() % 3 == 0) {
        const Frame& parent = known[random() % known.size()];
        Frame frame{++last[stream], parent.stack};
        frame.stack.insert(frame.stack.begin(), {random() % 3, random() % 4});
        feeder.Define(1, stream,
                      {frame.id, parent.id, frame.stack.front().first,
                       frame.stack.front().second});
        known.push_back(std::move(frame));
        continue;
      }
      const Frame& frame = known[random() % known.size()];
      SampleContext context;
      context.system_call = static_cast<std::uint32_t>(random() % 2);
      const std::uint64_t period = 1 + random() % 9;
      feeder.Sample(stream, period, frame.id, context);
      truth[{context.system_call, frame.stack}] += period;
    }
    const Samples samples = sums.Take();
    CHECK(samples.stacks_lost == 0);
    std::map<std::tuple<std::uint32_t, Stack>, std::uint64_t> found;
    for (const SampleSum& sum : samples.sums) {
      Stack stack;
      for (std::uint32_t frame = sum.frame; frame != 0;
           frame = samples.frames[frame].parent) {
        const StackFrame& one = samples.frames[frame];
        REQUIRE(one.parent < frame);
        const std::string& path = samples.files[one.file].path;
        stack.emplace_back(std::stoull(path.substr(5)), one.address);
      }
      found[{samples.contexts[sum.context].system_call, stack}] += sum.periods;
    }
    REQUIRE(found == truth);
  }
}

TEST_CASE("sample sums: times off CPU have limits, and their books add up") {
  logformat::TraceInfo info;
  std::uint32_t id = kFirst;
  for (const auto& [point, name] :
       {std::pair{SamplePoint::kSample, "off-cpu"},
        std::pair{SamplePoint::kFrame, ""}, std::pair{SamplePoint::kFile, ""},
        std::pair{SamplePoint::kCount, ""},
        std::pair{SamplePoint::kShort, ""}}) {
    info.hooks.push_back(
        logformat::DescribeSamplePoint(point, name, "1.00 ms or longer"));
    info.hooks.back().id = id++;
  }
  SampleSums sums(info);
  Feeder feeder(sums);
  feeder.Define(2, 0, {0}, {"-", "[kernel]"});
  feeder.Define(1, 0, {1, 0, 0, 0x10});
  feeder.Sample(0, 4'000'000, 1, {});
  feeder.Sample(0, 1'000'000, 1, {});
  // hook, counted, idle, outside, lost, throttled
  feeder.Define(3, 0, {kFirst, 9'000'003, 0, 500'000, 1, 0});
  // hook, shorter, shorter_ns, lost_ns, unseen; cut; not of an event
  feeder.Define(4, 0, {kFirst, 12, 1'500'000, 2'000'000, 1});
  feeder.Define(4, 0, {kFirst, 12, 1'500'000, 2'000'000, 1}, {}, 4);
  feeder.Define(4, 0, {kFirst + 1, 12, 1'500'000, 2'000'000, 1});
  const Samples samples = sums.Take();
  const SampleBooks books = SampleBooksOf(samples).front();
  CHECK(books.processes == 5'000'000);
  CHECK(books.shorter == 12);
  CHECK(books.shorter_ns == 1'500'000);
  CHECK(books.lost_ns == 2'000'000);
  CHECK(books.unseen == 1);
  CHECK(books.residual == 3);
  const SampleTable table = MakeCodeTable(samples, info, SampleBy::kFunction);
  REQUIRE(table.rows.size() == 1);
  CHECK(table.rows[0].self.lo == 5'000'000);
  CHECK(table.rows[0].self.hi == 7'000'000);  // the lost one may be of it
  CHECK(table.rows[0].self.share_lo == Approx(5.0 / 7));
}

TEST_CASE("sample sums: what has no sample is in the upper limits") {
  // 600 events of one function, 400 of another, a sample of each; some of the
  // first's samples were not taken, or lost.
  for (const std::uint64_t missing : {0u, 1u, 2u, 100u, 300u, 599u}) {
    CAPTURE(missing);
    SampleSums sums(InfoWithPoints());
    Feeder feeder(sums);
    feeder.Define(2, 0, {0}, {"-", logformat::kKernelCode});
    feeder.Define(3, 0, {0, 100, 10}, {"first"});
    feeder.Define(3, 0, {0, 200, 10}, {"second"});
    feeder.Define(1, 0, {1, 0, 0, 105});
    feeder.Define(1, 0, {2, 0, 0, 205});
    for (std::uint64_t i = missing; i < 600; ++i) feeder.Sample(0, 1, 1, {});
    for (int i = 0; i < 400; ++i) feeder.Sample(0, 1, 2, {});
    feeder.Define(4, 0, {kFirst, 1000, 0, 0, 0, 0});
    Samples samples = sums.Take();
    const SampleBooks books = SampleBooksOf(samples).front();
    CHECK(books.residual == static_cast<std::int64_t>(missing));
    // One period is left on the CPU at the end.
    CHECK(MissingIn(samples, books) == (missing > 1 ? missing : 0));
    const SampleTable table =
        MakeCodeTable(samples, InfoWithPoints(), SampleBy::kFunction);
    REQUIRE(table.rows.size() == 2);
    for (const SampleRow& row : table.rows) {
      const std::uint64_t truth = row.function == "first" ? 600 : 400;
      CHECK(row.self.lo <= truth);
      CHECK(row.self.hi >= truth);
      CHECK(row.self.share_lo <= static_cast<double>(truth) / 1000);
      CHECK(row.self.share_hi >= static_cast<double>(truth) / 1000);
      CHECK(row.self.value ==
            (row.function == "first" ? 600 - missing : std::uint64_t{400}));
    }
    // The counts are not those of a part.
    samples.of_part = true;
    CHECK(SampleBooksOf(samples).front().counted == 0);
    const SampleTable part =
        MakeCodeTable(samples, InfoWithPoints(), SampleBy::kFunction);
    for (const SampleRow& row : part.rows) {
      CHECK(row.self.hi <= 1000 - missing);
    }
  }
}

TEST_CASE("sample sums: what recording took is one frame") {
  const bool has_probes = GENERATE(false, true);
  logformat::TraceInfo info = InfoWithPoints();
  if (has_probes) {
    logformat::HookInfo& probe = info.hooks.emplace_back();
    probe.id = kFirst + 10;
    probe.origin = logformat::HookOrigin::kProbe;
  }
  SampleSums sums(info);
  Feeder feeder(sums);
  feeder.Define(2, 0, {0}, {"-", logformat::kKernelCode});
  const std::vector<std::string> names = {
      "work",           "__bpf_trace_sys_enter",
      "bpf_trace_run2", "bpf_prog_0123456789abcdef_on_syscall_enter",
      "htab_map_hash",  "bpf_prog_0123456789abcdef_another_tool",
      "asm_exc_int3",   "irqentry_exit_to_user_mode"};
  for (std::uint64_t i = 0; i < names.size(); ++i) {
    feeder.Define(3, 0, {0, 100 * i, 100}, {names[i]});
  }
  // The frames, each with its caller and its place in `names`.
  const std::vector<std::pair<std::uint64_t, std::uint64_t>> frames = {
      {0, 0}, {1, 1}, {2, 2}, {3, 3}, {4, 4},  // our program
      {1, 2}, {6, 5}, {7, 4},                  // another's
      {1, 6}, {9, 7}};                         // a probe
  for (std::uint64_t i = 0; i < frames.size(); ++i) {
    feeder.Define(1, 0, {i + 1, frames[i].first, 0, 100 * frames[i].second});
    for (std::uint64_t hit = 0; hit <= i; ++hit) {
      feeder.Sample(0, 1, i + 1, {});
    }
  }
  const Samples all = sums.Take();
  CodePlaces places(all, SampleBy::kFunction);
  std::map<std::string, std::uint64_t> hits;
  std::uint64_t taken = 0;
  for (const SampleSum& sum : all.sums) {
    std::string chain;
    for (std::uint32_t frame = sum.frame; frame != 0;
         frame = all.frames[frame].parent) {
      chain += places[places.Of(frame)[0]].function + " ";
    }
    hits[chain] += sum.hits;
    taken += sum.hits;
  }
  CHECK(taken == 55);
  CHECK(hits["work "] == 1);
  CHECK(hits["[recording] work "] == 2 + 3 + 4 + 5 + (has_probes ? 9 + 10 : 0));
  CHECK(hits["asm_exc_int3 work "] == (has_probes ? 0 : 9));
  CHECK(hits["bpf_trace_run2 work "] == 6);
  CHECK(hits["htab_map_hash " + names[5] + " bpf_trace_run2 work "] == 8);
}

// Stacks whose frames get their numbers at the end alone: of functions of a
// time, and of what recording took.
TEST_CASE("sample sums: each sample is delivered as Samples::timed has it") {
  constexpr std::uint64_t kMore = 200'000;  // than stay in memory
  std::mt19937_64 random(GENERATE(1u, 2u));
  std::vector<TimedSample> each;
  SampleSums sums(InfoWithPoints(), /*most_timed=*/3 * kMore, DataDetail::kNone,
                  [&](const Samples& samples, const TimedSample& sample) {
                    REQUIRE(sample.frame < samples.frames.size());
                    each.push_back(sample);
                  });
  Feeder feeder(sums);
  feeder.Define(2, 0, {1}, {"-", "/bin/program"});
  feeder.Define(2, 0, {2}, {"-", logformat::kJitCode});
  feeder.Define(2, 0, {3}, {"-", logformat::kKernelCode});
  feeder.Define(3, 0, {3, 0, 100}, {"bpf_prog_0123456789abcdef_on_enter"});
  feeder.Define(3, 0, {3, 100, 100}, {"htab_map_hash"});
  feeder.Define(1, 0, {1, 0, 1, 0x10});
  feeder.Define(1, 0, {2, 1, 2, 0x1000});  // made at run time
  feeder.Define(1, 0, {3, 2, 3, 0x0});     // the recorder's, called by it
  feeder.Define(1, 0, {4, 3, 3, 100});
  const auto add = [&](std::uint64_t samples) {
    for (std::uint64_t i = 0; i < samples; ++i) {
      SampleContext context;
      context.thread = static_cast<ThreadIndex>(random() % 3);
      feeder.Sample(0, 1 + random() % 9, random() % 6, context, i);
    }
  };
  add(kMore);
  sums.Drop();
  add(kMore + random() % 100'000);
  feeder.Define(5, 0, {2, 0x1000, 16, 1'000, 90'000}, {"First"});
  feeder.Define(5, 0, {2, 0x1000, 16, 90'000, ~std::uint64_t{0}}, {"Second"});
  const Samples all = sums.Take();
  REQUIRE(sums.status().ok());
  REQUIRE(each.size() == all.timed.size());
  REQUIRE(each.size() >= kMore);
  std::map<std::tuple<std::uint32_t, std::uint32_t>, std::uint64_t> periods;
  for (std::size_t i = 0; i < each.size(); ++i) {
    const TimedSample& one = each[i];
    const TimedSample& kept = all.timed[i];
    const bool same =
        std::tie(one.time_ns, one.context, one.frame, one.stack_lost,
                 one.period) == std::tie(kept.time_ns, kept.context, kept.frame,
                                         kept.stack_lost, kept.period);
    if (!same) FAIL("sample " << i);
    periods[{one.context, one.frame}] += one.period;
  }
  for (const SampleSum& sum : all.sums) {
    CHECK(periods[{sum.context, sum.frame}] == sum.periods);
  }
  CHECK(periods.size() == all.sums.size());
}

TEST_CASE("sample sums: a disk without room for samples is an error") {
  const char* const before = std::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  setenv("TMPDIR", "/nowhere", 1);
  SampleSums sums(InfoWithPoints(), 0, DataDetail::kNone,
                  [](const Samples&, const TimedSample&) {});
  Feeder feeder(sums);
  for (int i = 0; i < 200'000; ++i) feeder.Sample(0, 1, 0, {}, 1);
  if (before == nullptr) {
    unsetenv("TMPDIR");
  } else {
    setenv("TMPDIR", kept.c_str(), 1);
  }
  CHECK(sums.Take().sums.size() == 1);
  CHECK(sums.status().message() ==
        "Cannot keep samples in a temporary file: No such file or directory");
}

TEST_CASE("sample sums: damaged definitions lose names, never samples") {
  SampleSums sums(InfoWithPoints());
  Feeder feeder(sums);
  feeder.Define(1, 0, {1, 99, 7, 5});        // no such parent, no such file
  feeder.Define(1, 0, {2, 1, 0, 6}, {}, 4);  // cut
  feeder.Define(2, 0, {0}, {}, 3);
  feeder.Define(4, 0, {~std::uint64_t{0}, 1, 2, 3, 4, 5});
  feeder.Define(4, 0, {kFirst + 1, 1, 2, 3, 4, 5});  // not of an event
  for (const std::uint64_t stack : {1, 2, 3}) feeder.Sample(0, 10, stack, {});
  feeder.Sample(9, 10, 1, {});  // a stream without definitions
  const Samples samples = sums.Take();
  CHECK(samples.stacks_lost == 3);
  CHECK(samples.counts.empty());
  std::uint64_t hits = 0;
  for (const SampleSum& sum : samples.sums) hits += sum.hits;
  CHECK(hits == 4);
  const SampleTable table =
      MakeCodeTable(samples, InfoWithPoints(), SampleBy::kFunction);
  std::uint64_t self = 0;
  for (const SampleRow& row : table.rows) {
    CHECK(row.function == logformat::kUnknownCode);
    self += row.self.hits;
  }
  CHECK(self == 4);
}

TEST_CASE("sample sums: numbers of frames may have gaps, of any width") {
  SampleSums sums(InfoWithPoints());
  Feeder feeder(sums);
  feeder.Define(2, 0, {0}, {"-", "/lib/one"});
  const std::vector<std::uint64_t> numbers = {
      1, 2, 60, 5000, 5001, std::uint64_t{1} << 40, ~std::uint64_t{0}};
  std::uint64_t parent = 0;
  for (const std::uint64_t number : numbers) {
    feeder.Define(1, 0, {number, parent, 0, 100 + number % 1000});
    parent = number;
  }
  for (const std::uint64_t number : numbers) feeder.Sample(0, 1, number, {});
  for (const std::uint64_t number : {3, 59, 61, 4999, 5002}) {
    feeder.Sample(0, 1, number, {});
  }
  const Samples samples = sums.Take();
  CHECK(samples.stacks_lost == 5);
  REQUIRE(samples.sums.size() == numbers.size() + 1);
  for (std::uint32_t frame = 1; frame <= numbers.size(); ++frame) {
    CHECK(samples.frames[frame].parent == frame - 1);
    CHECK(samples.frames[frame].address == 100 + numbers[frame - 1] % 1000);
  }
}

TEST_CASE("sample tables: a recursive function has its total once") {
  SampleSums sums(InfoWithPoints());
  Feeder feeder(sums);
  feeder.Define(2, 0, {0}, {"-", logformat::kKernelCode});
  feeder.Define(3, 0, {0, 100, 10}, {"outer"});
  feeder.Define(3, 0, {0, 110, 10}, {"_ZN1a5innerEv"});
  feeder.Define(1, 0, {1, 0, 0, 105});
  feeder.Define(1, 0, {2, 1, 0, 112});
  feeder.Define(1, 0, {3, 2, 0, 113});
  feeder.Define(1, 0, {4, 3, 0, 120});  // behind the last symbol
  feeder.Sample(0, 10, 3, {});
  feeder.Sample(0, 10, 1, {});
  feeder.Sample(0, 10, 4, {});
  feeder.Define(4, 0, {kFirst, 100, 40, 20, 0, 0});
  const Samples samples = sums.Take();
  const SampleTable table =
      MakeCodeTable(samples, InfoWithPoints(), SampleBy::kFunction);
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> rows;
  for (const SampleRow& row : table.rows) {
    rows[row.function] = {row.self.hits, row.total.hits};
  }
  CHECK(rows["outer"] == std::pair<std::uint64_t, std::uint64_t>{1, 3});
  CHECK(rows["a::inner()"] == std::pair<std::uint64_t, std::uint64_t>{1, 2});
  CHECK(rows["[kernel]"] == std::pair<std::uint64_t, std::uint64_t>{1, 1});
  const auto books = SampleBooksOf(samples);
  REQUIRE(books.size() == 1);
  CHECK(books[0].processes == 30);
  CHECK(books[0].residual == 10);
  const auto text = [](const SampleTable& tree) {
    std::string lines;
    for (const SampleRow& row : tree.rows) {
      lines += std::string(row.depth, ' ') + row.function + ' ' +
               std::to_string(row.self.hits) + '/' +
               std::to_string(row.total.hits) + '\n';
    }
    return lines;
  };
  CHECK(text(MakeCallTree(samples, {})) ==
        "outer 1/3\n a::inner() 0/2\n  a::inner() 1/2\n   [kernel] 1/1\n");
  CHECK(text(MakeCallTree(samples, {.function = "a::*"})) ==
        "a::inner() 0/2\n a::inner() 1/2\n  [kernel] 1/1\n");
  CHECK(text(MakeCallTree(samples, {.callers = true, .function = "a::*"})) ==
        "a::inner() 2/2\n a::inner() 0/2\n  outer 0/2\n");
  CHECK(text(MakeCallTree(samples, {.function = "none"})).empty());
  CHECK(text(MakeCallTree(samples, {.fold_recursion = true})) ==
        "outer 1/3\n a::inner() 1/2\n  [kernel] 1/1\n");
  CHECK(text(MakeCallTree(
            samples,
            {.callers = true, .function = "a::*", .fold_recursion = true})) ==
        "a::inner() 2/2\n outer 0/2\n");
  const SampleTable large = MakeCallTree(samples, {.least_share = 0.5});
  CHECK(large.rows.size() == 3);
  CHECK(large.left_out == 1);
}

TEST_CASE("sample tables: 95 of 100 intervals hold the share") {
  std::mt19937 random(23);
  int inside = 0;
  constexpr int kTries = 4000;
  for (int i = 0; i < kTries; ++i) {
    const double share = std::uniform_real_distribution<>(0.02, 0.98)(random);
    const int all = 100 + static_cast<int>(random() % 900);
    const int hits = std::binomial_distribution<>(all, share)(random);
    SampledAmount amount;
    SetShare(hits, all, amount);
    REQUIRE(amount.share_lo <= amount.share);
    REQUIRE(amount.share <= amount.share_hi);
    inside += amount.share_lo <= share && share <= amount.share_hi;
  }
  CHECK(inside > kTries * 94 / 100);
  CHECK(inside < kTries * 97 / 100);
}

TEST_CASE("symbolizer: what is no program has no names, and says why") {
  for (const char* path : {"/dev/zero", "/proc/self/mem", "/no/such/file",
                           "/etc/passwd", "relative", "/"}) {
    Symbolizer symbolizer;
    CHECK(symbolizer.NamesOf({path, ""}, 5).at(0).function.empty());
    CHECK(symbolizer.messages().size() == 1);
    CHECK(symbolizer.NamesOf({path, ""}, 6).at(0).function.empty());
    CHECK(symbolizer.messages().size() == 1);
  }
}

}  // namespace
}  // namespace countrace::rmap
