// The ring of kernel_ring.h, written by the test as the BPF programs write it.
#include "runtime/recorder/kernel/bpf/read/kernel_ring_reader.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "logformat/packet_layout.h"
#include "runtime/recorder/kernel/hooks/kernel_hook_registry.h"
#include "runtime/recorder/kernel/hooks/syscall_arguments.h"

namespace countrace::runtime {
namespace {

using logformat::CpuEvent;

constexpr std::uint64_t kRingBytes = 4096;

// The kernel's side.
struct Writer {
  countrace_ring_control control{};
  std::vector<std::byte> ring =
      std::vector<std::byte>(kRingBytes + COUNTRACE_RING_SLACK);

  std::byte* At(std::uint64_t position) {
    return ring.data() + (position & (kRingBytes - 1));
  }
  void Word(std::uint64_t position, std::size_t index, std::uint64_t value) {
    std::memcpy(At(position) + 8 * index, &value, sizeof(value));
  }
  // Position of the record, or -1: no room, counted.
  std::int64_t Reserve(std::size_t bytes, std::uint64_t time_ns) {
    const bool say = control.lost != control.lost_said;
    const std::size_t all = bytes + (say ? 16 : 0);
    if (control.head + all - control.tail > kRingBytes) {
      ++control.lost;
      return -1;
    }
    std::uint64_t at = control.head;
    control.head += all;
    if (say) {
      Word(at, 0, logformat::HeaderWord(COUNTRACE_EVENT_LOST, time_ns));
      Word(at, 1, control.lost);
      control.lost_said = control.lost;
      at += 16;
    }
    return static_cast<std::int64_t>(at);
  }
  void Commit(std::int64_t at, CpuEvent event, std::uint64_t time_ns) {
    Word(static_cast<std::uint64_t>(at), 0,
         logformat::HeaderWord(static_cast<std::uint16_t>(event), time_ns));
  }
  bool Dispatch(std::uint64_t time_ns, std::uint64_t tids,
                const std::vector<std::uint64_t>& counters) {
    const std::int64_t at = Reserve(16 + 8 * counters.size(), time_ns);
    if (at < 0) return false;
    Word(static_cast<std::uint64_t>(at), 1, tids);
    for (std::size_t i = 0; i < counters.size(); ++i) {
      Word(static_cast<std::uint64_t>(at), 2 + i, counters[i]);
    }
    Commit(at, CpuEvent::kDispatch, time_ns);
    return true;
  }
  // A record at listed hook `number` with one slot a value: `room` bytes.
  bool Values(std::uint64_t time_ns, std::uint16_t place, std::uint64_t number,
              const std::vector<std::uint64_t>& words, std::uint64_t said) {
    const std::size_t head = place == COUNTRACE_PLACE_EXIT ? 4 : 3;
    const std::int64_t at = Reserve(8 * (head + words.size()), time_ns);
    if (at < 0) return false;
    const auto position = static_cast<std::uint64_t>(at);
    Word(position, 1, 7 | 7ull << 24 | number << 48);
    if (place == COUNTRACE_PLACE_EXIT) Word(position, 2, 99);
    Word(position, head - 1, said);
    for (std::size_t i = 0; i < words.size(); ++i) {
      Word(position, head + i, words[i]);
    }
    const unsigned event = COUNTRACE_EVENT_HOOK + 4 * COUNTRACE_FAMILY_LISTED +
                           place + COUNTRACE_EVENT_VALUES;
    Word(position, 0,
         logformat::HeaderWord(static_cast<std::uint16_t>(event), time_ns));
    return true;
  }
  KernelRingReader Reader(std::size_t counters, std::uint64_t now_ns) {
    return KernelRingReader(control, ring.data(), kRingBytes, counters, now_ns);
  }
};

// A text's slot, as the BPF programs fill it.
void AddSlot(const std::string& text, std::int32_t read,
             std::vector<std::uint64_t>& words) {
  char slot[COUNTRACE_TEXT_ROOM] = {};
  std::memcpy(slot, text.data(), std::min<std::size_t>(text.size(), 129));
  std::memcpy(slot + sizeof(slot) - 4, &read, 4);
  const std::size_t at = words.size();
  words.resize(at + sizeof(slot) / 8);
  std::memcpy(words.data() + at, slot, sizeof(slot));
}

}  // namespace

TEST_CASE("kernel ring: values stay with their record when others are lost",
          "[recorder][bpf]") {
  std::mt19937 random(9);  // NOLINT(cert-msc51-cpp): repeatable
  using logformat::PayloadType;
  std::vector<DynamicHook> dynamic(2);
  dynamic[0].kind = logformat::HookKind::kSegment;
  dynamic[0].values = {{PayloadType::kUnsigned, PayloadType::kString},
                       {"n", "t"}};
  dynamic[0].exit_values = {{PayloadType::kString}, {"t"}};
  dynamic[1].values = {{PayloadType::kInt}, {"n"}};
  KernelHookRegistry hooks(dynamic);
  REQUIRE(hooks.OpenUnstored().ok());
  Writer writer;
  std::uint64_t now_ns = 1000, next = 0, lost = 0, reported = 0, read = 0;
  KernelRingReader reader(writer.control, writer.ring.data(), kRingBytes, 0,
                          now_ns, &hooks);
  std::vector<std::string> wanted;
  std::uint64_t unreadable = 0, wrong = 0;
  for (int round = 0; round < 400; ++round) {
    for (auto left = random() % 60; left > 0; --left) {
      now_ns += 1 + random() % 50;
      const std::uint64_t number = ++next;
      std::string text(random() % 140, static_cast<char>('a' + number % 26));
      auto length = static_cast<std::int32_t>(
          std::min<std::size_t>(text.size(), 129) + 1);
      std::string shown =
          text.size() <= 128 ? text : text.substr(0, 127) + "...";
      if (random() % 10 == 0) {
        length = random() % 2 == 0 ? 0 : -14;
        shown = length == 0 ? "(null)" : "(unreadable)";
      }
      const bool failed = length < 0;
      std::vector<std::uint64_t> words;
      bool stored = false;
      switch (random() % 4) {
        case 0:
          words.push_back(number);
          AddSlot(text, length, words);
          stored = writer.Values(now_ns, COUNTRACE_PLACE_ENTER, 0, words,
                                 2 | 2 << 8 | (failed ? 2 << 16 : 0));
          shown = "0 " + std::to_string(number) + " " + shown;
          break;
        case 1:
          AddSlot(text, length, words);
          stored = writer.Values(now_ns, COUNTRACE_PLACE_EXIT, 0, words,
                                 1 | 1 << 8 | (failed ? 1 << 16 : 0));
          shown = "1 99 " + shown;
          break;
        case 2:
          stored = writer.Values(now_ns, COUNTRACE_PLACE_POINT, 1, {number}, 1);
          shown = "2 " + std::to_string(number);
          break;
        default:
          // Values that are not its hook's: lost alone.
          stored = writer.Values(now_ns, COUNTRACE_PLACE_POINT, 1,
                                 {number, number}, 2);
          if (stored) ++wrong;
          if (!stored) ++lost;
          continue;
      }
      if (!stored) {
        ++lost;
        continue;
      }
      if (failed && shown[0] != '2') ++unreadable;
      wanted.push_back(shown);
    }
    RecordBatch batch;
    reader.Drain(batch);
    for (const KernelRecord& record : batch.records()) {
      if (record.event_id == kLossEntry) {
        reported += *batch.Words(record);
        continue;
      }
      const auto bytes = batch.Bytes(record);
      const char* const at = reinterpret_cast<const char*>(bytes.data());
      std::string shown = "2 ";
      std::uint64_t word = 0;
      std::memcpy(&word, at + 8, 8);
      if ((record.event_id & 1) != 0) {
        shown = "1 " + std::to_string(word) + " " + (at + 16);
        CHECK(bytes.size() == 16 + std::strlen(at + 16) + 1);
      } else if (record.event_id == 2 * logformat::kHookIdKernelMin) {
        shown = "0 " + std::to_string(word) + " " + (at + 16);
        CHECK(bytes.size() == 16 + std::strlen(at + 16) + 1);
      } else {
        shown += std::to_string(word);
        CHECK(bytes.size() == 16);
      }
      REQUIRE(read < wanted.size());
      CHECK(shown == wanted[read++]);
    }
    CHECK(read == wanted.size());
  }
  RecordBatch last;
  reader.DrainLosses(last);
  for (const KernelRecord& record : last.records()) {
    reported += *last.Words(record);
  }
  CHECK(lost > 0);
  CHECK(wrong > 0);
  CHECK(reported == lost + wrong);
  CHECK(reader.unnamed() == wrong);
  CHECK(reader.unreadable() == unreadable);
  CHECK(reader.malformed() == 0);
}

TEST_CASE("kernel ring: bytes that are no text are shown in base 16",
          "[recorder][bpf]") {
  std::vector<DynamicHook> dynamic(1);
  dynamic[0].values = {{logformat::PayloadType::kString}, {"saddr"}};
  KernelHookRegistry hooks(dynamic);
  REQUIRE(hooks.OpenUnstored().ok());
  Writer writer;
  KernelRingReader reader(writer.control, writer.ring.data(), kRingBytes, 0,
                          1000, &hooks);
  std::vector<std::uint64_t> words;
  AddSlot(std::string("\x7f\0\0\x01", 4), 4 | COUNTRACE_TEXT_IS_HEX, words);
  REQUIRE(writer.Values(1100, COUNTRACE_PLACE_POINT, 0, words, 1 | 1 << 8));
  RecordBatch batch;
  reader.Drain(batch);
  REQUIRE(batch.size() == 1);
  const auto bytes = batch.Bytes(batch.records()[0]);
  CHECK(std::string(reinterpret_cast<const char*>(bytes.data()) + 8) ==
        "7f000001");
}

TEST_CASE("kernel ring: written = read + lost, in order, around the ring",
          "[recorder][bpf]") {
  std::mt19937 random(7);  // NOLINT(cert-msc51-cpp): repeatable
  const std::size_t counters = GENERATE(0u, 1u, 4u, 16u);
  Writer writer;
  std::uint64_t now_ns = (std::uint64_t{5} << 48) - 1'000'000;  // 48 bits wrap
  KernelRingReader reader = writer.Reader(counters, now_ns);
  std::uint64_t written = 0, lost = 0, read = 0, reported = 0;
  std::uint64_t next_value = 0;
  for (int round = 0; round < 400; ++round) {
    const auto burst = static_cast<unsigned>(random() % 400);
    for (unsigned i = 0; i < burst; ++i) {
      now_ns += random() % 5000;
      const std::vector<std::uint64_t> values(counters, written);
      if (writer.Dispatch(now_ns, logformat::PackDispatch(1, 2, 0), values)) {
        ++written;
      } else {
        ++lost;
      }
    }
    RecordBatch batch;
    reader.Drain(batch);
    std::uint64_t last_ns = 0;
    for (const KernelRecord& record : batch.records()) {
      CHECK(record.time_ns >= last_ns);
      last_ns = record.time_ns;
      if (record.event_id == kLossEntry) {
        reported += *batch.Words(record);
        continue;
      }
      ++read;
      CHECK(record.time_ns <= now_ns);
      CHECK(record.time_ns > now_ns - 10'000'000);
      REQUIRE(record.body_words == 1 + counters);
      if (counters > 0) CHECK(batch.Words(record)[counters] == next_value);
      ++next_value;
    }
    CHECK(read == written);
  }
  RecordBatch last;
  reader.DrainLosses(last);
  for (const KernelRecord& record : last.records()) {
    reported += *last.Words(record);
  }
  CHECK(lost > 0);
  CHECK(reported == lost);
  CHECK(reader.lost() == lost);
  CHECK(reader.dispatches() == read);
  CHECK(reader.malformed() == 0);
}

TEST_CASE("kernel ring: a record that is being written holds back the rest",
          "[recorder][bpf]") {
  Writer writer;
  KernelRingReader reader = writer.Reader(1, 1000);
  writer.Dispatch(1000, 1, {1});
  const std::int64_t open = writer.Reserve(24, 1100);
  writer.Dispatch(1200, 2, {2});  // the interrupting one
  RecordBatch batch;
  reader.Drain(batch);
  CHECK(batch.size() == 1);
  reader.Drain(batch);
  CHECK(batch.size() == 1);
  writer.Commit(open, CpuEvent::kFault, 1100);
  reader.Drain(batch);
  REQUIRE(batch.size() == 3);
  CHECK(batch.records()[1].event_id ==
        static_cast<std::uint16_t>(CpuEvent::kFault));
  CHECK(batch.records()[2].time_ns == 1200);
}

TEST_CASE("kernel ring: values without a counter are 0 and an entry says so",
          "[recorder][bpf]") {
  constexpr std::uint64_t kNone = COUNTRACE_NOT_COUNTED;
  Writer writer;
  KernelRingReader reader = writer.Reader(3, 1000);
  writer.Dispatch(1000, 1, {10, 20, 30});
  writer.Dispatch(1100, 2, {11, kNone, kNone});
  writer.Dispatch(1200, 1, {12, kNone, kNone});
  RecordBatch batch;
  reader.Drain(batch);
  REQUIRE(batch.size() == 4);
  const auto counted = [&](std::size_t i) {
    REQUIRE(batch.records()[i].event_id == kCountedEntry);
    return static_cast<std::uint32_t>(*batch.Words(batch.records()[i]));
  };
  CHECK(counted(1) == ~std::uint32_t{0b110});
  CHECK(batch.records()[1].time_ns == 1100);
  CHECK(batch.Words(batch.records()[2])[1] == 11);
  CHECK(batch.Words(batch.records()[2])[2] == 0);
  CHECK(batch.Words(batch.records()[3])[3] == 0);
  CHECK(reader.refused());
  CHECK(reader.refused_ns() == 100);
  writer.Dispatch(1500, 2, {13, 21, 31});
  reader.Drain(batch);
  REQUIRE(batch.size() == 6);
  CHECK(counted(4) == ~std::uint32_t{0});
  CHECK(batch.Words(batch.records()[5])[2] == 21);
  CHECK_FALSE(reader.refused());
  CHECK(reader.refused_ns() == 400);
}

TEST_CASE("kernel ring: a block point is stored with its device's name",
          "[recorder][bpf]") {
  DynamicHook hook;
  hook.provider = "block";
  hook.name = "block_rq_issue";
  hook.origin = logformat::HookOrigin::kKernel;
  hook.block_fields.emplace();
  KernelHookRegistry registry({hook});
  REQUIRE(registry.OpenUnstored().ok());
  Writer writer;
  KernelRingReader reader(writer.control, writer.ring.data(), kRingBytes, 1,
                          1000, &registry);
  constexpr std::uint64_t kIds = 7 | 5 << 24;
  // Major 4,095 is no device.
  const std::vector<std::uint64_t> words = {kIds, 99, 4095u << 20 | 3, 2048, 8};
  const auto at = static_cast<std::uint64_t>(writer.Reserve(48, 1000));
  for (std::size_t i = 0; i < words.size(); ++i) {
    writer.Word(at, 1 + i, words[i]);
  }
  writer.Commit(static_cast<std::int64_t>(at),
                static_cast<CpuEvent>((COUNTRACE_EVENT_HOOK +
                                       4 * COUNTRACE_FAMILY_LISTED +
                                       COUNTRACE_PLACE_BLOCK) |
                                      COUNTRACE_EVENT_DUMP),
                1000);
  RecordBatch batch;
  reader.Drain(batch);
  REQUIRE(batch.size() == 1);
  const KernelRecord& record = batch.records()[0];
  CHECK(logformat::IsKernelHookEvent(record.event_id));
  const auto bytes = batch.Bytes(record);
  const std::string text = "4095:3";
  REQUIRE(bytes.size() == 4 * 8 + text.size() + 1);
  const std::uint64_t* body = batch.Words(record);
  CHECK(body[0] == kIds);
  CHECK(body[1] == 99);
  CHECK(body[2] == 2048);
  CHECK(body[3] == 8 * 512);
  CHECK(std::string(reinterpret_cast<const char*>(body + 4)) == text);
  CHECK(reader.malformed() == 0);
}

TEST_CASE("kernel ring: a system call has the file that was named before it",
          "[recorder][bpf]") {
  constexpr char kClose[] =
      "\tfield:int __syscall_nr;\toffset:8;\n"
      "\tfield:unsigned int fd;\toffset:16;\tsize:8;\tsigned:0;\n";
  KernelHookRegistry hooks({}, {ParseSyscallFormat("close", kClose)});
  REQUIRE(hooks.OpenUnstored().ok());
  Writer writer;
  KernelRingReader reader(writer.control, writer.ring.data(), kRingBytes, 0,
                          1000, &hooks);
  // Around the ring's end several times; the number's file changes each time.
  for (std::uint64_t round = 0; round < 500; ++round) {
    const std::uint64_t time_ns = 1000 + 10 * round;
    const std::string name(1 + round % 60, static_cast<char>('a' + round % 26));
    const std::size_t name_words = name.size() / 8 + 1;
    const std::int64_t file = writer.Reserve(32 + 8 * name_words, time_ns);
    REQUIRE(file >= 0);
    const auto at = static_cast<std::uint64_t>(file);
    writer.Word(at, 1, 7 | (name.size() + 1) << 32);
    std::memcpy(writer.At(at) + 32, name.c_str(), name.size() + 1);
    writer.Word(at, 0, logformat::HeaderWord(COUNTRACE_EVENT_FILE, time_ns));
    const std::int64_t call = writer.Reserve(40, time_ns);
    REQUIRE(call >= 0);
    const auto enter = static_cast<std::uint64_t>(call);
    writer.Word(enter, 2, 24);
    writer.Word(enter, 3, round);
    writer.Word(enter, 4, 8);
    writer.Word(
        enter, 0,
        logformat::HeaderWord(
            COUNTRACE_EVENT_HOOK | COUNTRACE_EVENT_CALL_VALUES, time_ns));
    RecordBatch batch;
    reader.Drain(batch);
    REQUIRE(batch.size() == 1);
    const auto body = batch.Bytes(batch.records()[0]);
    std::uint64_t fd = 0;
    std::memcpy(&fd, body.data() + 8, 8);
    CHECK(fd == round);
    CHECK(std::string(reinterpret_cast<const char*>(body.data()) + 16,
                      body.size() - 16) == "/" + name + '\0');
  }
  CHECK(reader.malformed() == 0);
  CHECK(reader.unnamed() == 0);
}

TEST_CASE("kernel ring: an interrupter's record may be older in the ring",
          "[recorder][bpf]") {
  Writer writer;
  KernelRingReader reader = writer.Reader(0, 1000);
  writer.Dispatch(2000, 1, {});
  writer.Dispatch(1900, 2, {});
  RecordBatch batch;
  reader.Drain(batch);
  REQUIRE(batch.size() == 2);
  CHECK(batch.records()[0].time_ns == 1900);
  CHECK(batch.records()[1].time_ns == 2000);
}

TEST_CASE("kernel ring: what is no record is counted and thrown away",
          "[recorder][bpf]") {
  Writer writer;
  KernelRingReader reader = writer.Reader(0, 1000);
  writer.Dispatch(1000, 1, {});
  const std::int64_t at = writer.Reserve(16, 1000);
  writer.Word(static_cast<std::uint64_t>(at), 0,
              logformat::HeaderWord(999, 1000));
  writer.Dispatch(1001, 1, {});
  RecordBatch batch;
  reader.Drain(batch);
  CHECK(batch.size() == 1);
  CHECK(reader.malformed() == 1);
  writer.Dispatch(1002, 1, {});
  reader.Drain(batch);
  CHECK(batch.size() == 2);
}

TEST_CASE("kernel ring: states of a switch are those of the format",
          "[recorder][bpf]") {
  Writer writer;
  KernelRingReader reader = writer.Reader(0, 1000);
  writer.Dispatch(1000, logformat::PackDispatch(7, 8, 0x100), {});
  writer.Dispatch(1001, logformat::PackDispatch(7, 8, 0x20), {});
  // Flags: who may use every CPU.
  writer.Dispatch(1002, logformat::PackDispatch(7, 8, 0xc01), {});
  writer.Dispatch(1003, logformat::PackDispatch(7, 8, 0x700), {});
  writer.Dispatch(1004, logformat::PackDispatch(7, 8, 0x800), {});
  RecordBatch batch;
  reader.Drain(batch);
  REQUIRE(batch.size() == 5);
  CHECK(*batch.Words(batch.records()[0]) ==
        logformat::PackDispatch(7, 8, logformat::kSwitchPreempted));
  CHECK(*batch.Words(batch.records()[1]) ==
        logformat::PackDispatch(7, 8, logformat::kSwitchDead));
  CHECK(*batch.Words(batch.records()[2]) ==
        logformat::PackDispatch(7, 8, 0xc01));
  CHECK(*batch.Words(batch.records()[3]) ==
        logformat::PackDispatch(7, 8, logformat::kSwitchThrottled | 0x400));
  CHECK(*batch.Words(batch.records()[4]) ==
        logformat::PackDispatch(7, 8, logformat::kSwitchPreempted | 0x800));
}

}  // namespace countrace::runtime
