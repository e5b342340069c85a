// Rings, records and samples as the kernel writes them, made by hand.
#include "runtime/recorder/kernel/perf/perf_decoder.h"

#include <sys/mman.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

#include "base/posix/scoped_fd.h"
#include "logformat/packet_layout.h"
#include "runtime/recorder/kernel/ring/perf_ring.h"
#include "runtime/recorder/system/cpu_list.h"
#include "runtime/recorder/system/process_scan.h"
#include "runtime/recorder/system/tracepoint_format.h"

namespace countrace::runtime {
namespace {

using logformat::CpuEvent;

constexpr SwitchFormat kFormat = {.prev_tid_offset = 24,
                                  .prev_state_offset = 32,
                                  .prev_state_size = 8,
                                  .next_tid_offset = 56,
                                  .raw_bytes = 60};

constexpr std::uint64_t kFaultId = 1234;

// Builds one perf record, 8 bytes at a time.
class RecordBuilder {
 public:
  RecordBuilder(std::uint32_t type, std::uint16_t misc) {
    perf_event_header header{};
    header.type = type;
    header.misc = misc;
    Append(header);
  }
  template <typename T>
  RecordBuilder& Append(const T& value) {
    const std::size_t at = bytes_.size();
    bytes_.resize(at + sizeof(value));
    std::memcpy(bytes_.data() + at, &value, sizeof(value));
    return *this;
  }
  RecordBuilder& Pair(std::uint32_t a, std::uint32_t b) {
    return Append(a).Append(b);
  }
  RecordBuilder& Word(std::uint64_t value) { return Append(value); }
  // pid, tid; time; cpu, reserved
  RecordBuilder& Trailer(std::uint64_t time) {
    return Pair(7, 8).Word(time).Pair(1, 0);
  }
  const std::vector<std::byte>& Done() {
    auto* header = reinterpret_cast<perf_event_header*>(bytes_.data());
    header->size = static_cast<std::uint16_t>(bytes_.size());
    return bytes_;
  }

 private:
  std::vector<std::byte> bytes_;
};

std::vector<std::byte> SwitchSample(std::uint64_t time, std::int32_t prev,
                                    std::int32_t next, std::uint64_t state,
                                    const std::vector<std::uint64_t>& counts) {
  RecordBuilder builder(PERF_RECORD_SAMPLE, 0);
  builder.Trailer(time).Word(counts.size() + 1).Word(99);
  for (const std::uint64_t count : counts) builder.Word(count);
  std::byte raw[68] = {};
  const std::uint32_t raw_bytes = 68;
  std::memcpy(raw + 24, &prev, 4);
  std::memcpy(raw + 32, &state, 8);
  std::memcpy(raw + 56, &next, 4);
  builder.Append(raw_bytes).Append(raw);
  return builder.Done();
}

const perf_event_header& Header(const std::vector<std::byte>& bytes) {
  return *reinterpret_cast<const perf_event_header*>(bytes.data());
}

}  // namespace

TEST_CASE(
    "perf_decoder: a switch sample becomes a dispatch with the counters "
    "in their places",
    "[recorder]") {
  // This CPU has the first and the last of three events.
  PerfDecoder decoder(kFormat, {0, 2}, 3);
  RecordBatch batch;
  decoder.Decode(Header(SwitchSample(1000, 11, 22, 0x100, {5, 6})), batch);
  REQUIRE(batch.size() == 1);
  const KernelRecord& record = batch.records()[0];
  CHECK(record.time_ns == 1000);
  CHECK(record.event_id == static_cast<std::uint16_t>(CpuEvent::kDispatch));
  REQUIRE(record.body_words == 4);
  const std::uint64_t* words = batch.Words(record);
  CHECK(words[0] ==
        logformat::PackDispatch(11, 22, logformat::kSwitchPreempted));
  CHECK(words[1] == 5);
  CHECK(words[2] == 0);
  CHECK(words[3] == 6);
  CHECK(decoder.malformed() == 0);
}

TEST_CASE("perf_decoder: side records keep ids, times and names",
          "[recorder]") {
  PerfDecoder decoder(kFormat, {0}, 1);
  RecordBatch batch;
  RecordBuilder fork(PERF_RECORD_FORK, 0);
  fork.Pair(10, 11).Pair(12, 13).Word(500).Trailer(501);
  decoder.Decode(Header(fork.Done()), batch);
  RecordBuilder exec(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
  exec.Pair(10, 12).Append("fifteen-letters").Trailer(600);
  decoder.Decode(Header(exec.Done()), batch);
  decoder.SetFaultId(kFaultId);
  RecordBuilder fault(PERF_RECORD_SAMPLE, 0);
  fault.Word(kFaultId).Pair(10, 12).Word(700).Word(0xdeadbeef).Pair(1, 0);
  // Others sample page faults on this CPU, with the values of their group.
  fault.Word(4).Word(4).Word(3).Word(2).Word(1);
  decoder.Decode(Header(fault.Done()), batch);
  RecordBuilder lost(PERF_RECORD_LOST, 0);
  lost.Word(1).Word(41).Trailer(800);
  decoder.Decode(Header(lost.Done()), batch);

  REQUIRE(batch.size() == 4);
  const auto task = batch.Body<logformat::TaskRecord>(batch.records()[0]);
  CHECK(batch.records()[0].time_ns == 500);
  CHECK(task.pid == 10);
  CHECK(task.parent_pid == 11);
  CHECK(task.tid == 12);
  CHECK(task.parent_tid == 13);
  const auto comm = batch.Body<logformat::CommRecord>(batch.records()[1]);
  CHECK(batch.records()[1].event_id ==
        static_cast<std::uint16_t>(CpuEvent::kExec));
  CHECK(std::string(comm.comm) == "fifteen-letters");
  const auto page = batch.Body<logformat::FaultRecord>(batch.records()[2]);
  CHECK(page.address == 0xdeadbeef);
  CHECK(page.tid == 12);
  CHECK(batch.records()[3].event_id == kLossEntry);
  CHECK(*batch.Words(batch.records()[3]) == 41);
  CHECK(decoder.lost() == 41);
}

TEST_CASE("perf_decoder: of the switch records, the switch-ins are kept",
          "[recorder]") {
  PerfDecoder decoder(kFormat, {0}, 1);
  RecordBatch batch;
  const auto decode = [&](std::uint16_t misc, std::uint64_t time_ns,
                          std::uint32_t tid, std::uint64_t until_ns) {
    RecordBuilder record(PERF_RECORD_SWITCH_CPU_WIDE, misc);
    record.Pair(6, 5).Pair(tid, tid).Word(time_ns).Pair(1, 0);
    decoder.DecodeSwitchIn(Header(record.Done()), until_ns, batch);
  };
  decode(0, 100, 8, 1000);
  decode(PERF_RECORD_MISC_SWITCH_OUT, 200, 8, 1000);
  decode(0, 1001, 8, 1000);                 // too late
  decode(0, 300, ~std::uint32_t{0}, 1000);  // dead already
  RecordBuilder cut(PERF_RECORD_SWITCH_CPU_WIDE, 0);
  decoder.DecodeSwitchIn(Header(cut.Pair(6, 5).Done()), 1000, batch);
  REQUIRE(batch.size() == 1);
  CHECK(batch.records()[0].time_ns == 100);
  CHECK(batch.records()[0].event_id ==
        static_cast<std::uint16_t>(CpuEvent::kSwitchIn));
  CHECK(*batch.Words(batch.records()[0]) == logformat::PackDispatch(5, 8, 0));
  CHECK(decoder.malformed() == 1);
}

TEST_CASE("perf_decoder: cut or foreign records are counted, never believed",
          "[recorder]") {
  PerfDecoder decoder(kFormat, {0, 1}, 2);
  RecordBatch batch;
  std::vector<std::byte> whole = SwitchSample(1, 2, 3, 0, {4, 5});
  for (std::size_t size = sizeof(perf_event_header); size < whole.size();
       size += 8) {
    std::vector<std::byte> cut(whole.begin(),
                               whole.begin() + static_cast<long>(size));
    reinterpret_cast<perf_event_header*>(cut.data())->size =
        static_cast<std::uint16_t>(size);
    if (size >= 56 + 8 + 64) continue;  // complete enough
    const std::uint64_t before = decoder.malformed();
    decoder.Decode(Header(cut), batch);
    CAPTURE(size);
    CHECK(decoder.malformed() == before + 1);
  }
  // Another number of counters than the group has.
  decoder.Decode(Header(SwitchSample(1, 2, 3, 0, {4, 5, 6})), batch);
  CHECK(batch.size() == 0);
  // For the message; the later ones are only counted.
  CHECK(decoder.first_malformed().type == PERF_RECORD_SAMPLE);
  CHECK(decoder.first_malformed().size == sizeof(perf_event_header));
}

TEST_CASE(
    "kernel_record: order is restored within a batch, equal times keep "
    "their place",
    "[recorder]") {
  RecordBatch batch;
  for (const std::uint64_t time : {5u, 1u, 3u, 3u, 9u, 2u}) {
    const std::size_t place = batch.size();
    *batch.Add(time, 1, 1) = time * 10 + place;
  }
  CHECK(batch.SortFrom(0) == 2);
  std::vector<std::uint64_t> bodies;
  for (const KernelRecord& record : batch.records()) {
    bodies.push_back(*batch.Words(record));
  }
  CHECK(bodies == std::vector<std::uint64_t>{11, 25, 32, 33, 50, 94});
  batch.Consume(4);
  REQUIRE(batch.size() == 2);
  CHECK(*batch.Words(batch.records()[0]) == 50);
  CHECK(*batch.Words(batch.records()[1]) == 94);
}

TEST_CASE("perf_ring: records that cross the end come out whole",
          "[recorder]") {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const base::ScopedFd memory(memfd_create("ring", MFD_CLOEXEC));
  REQUIRE(ftruncate(memory.get(), static_cast<off_t>(2 * page)) == 0);
  auto* base = static_cast<std::byte*>(mmap(
      nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0));
  REQUIRE(base != MAP_FAILED);
  auto* control = reinterpret_cast<perf_event_mmap_page*>(base);
  control->data_offset = page;
  auto ring = PerfRing::Map(memory.get(), page);
  REQUIRE(ring.ok());
  CHECK(ring->data_bytes() == page);

  // Acts as the kernel: sizes that do not divide the ring, many times around.
  std::uint64_t head = 0;
  std::uint64_t written = 0;
  std::uint64_t read = 0;
  for (int round = 0; round < 500; ++round) {
    while (true) {
      const std::uint16_t size =
          static_cast<std::uint16_t>(24 + 8 * (written % 13));
      if (head + size - control->data_tail > page) break;
      std::vector<std::uint64_t> record(size / 8, written);
      perf_event_header header{};
      header.type = PERF_RECORD_SAMPLE;
      header.size = size;
      std::memcpy(record.data(), &header, sizeof(header));
      const auto* from = reinterpret_cast<const std::byte*>(record.data());
      for (std::size_t i = 0; i < size; ++i) {
        base[page + (head + i) % page] = from[i];
      }
      head += size;
      ++written;
      __atomic_store_n(&control->data_head, head, __ATOMIC_RELEASE);
    }
    bool whole = true;
    while (const perf_event_header* header = ring->Next(ring->Head())) {
      const std::uint64_t* words =
          reinterpret_cast<const std::uint64_t*>(header);
      for (std::size_t i = 1; i < header->size / 8u; ++i) {
        whole &= words[i] == read;
      }
      ++read;
    }
    ring->Release();
    REQUIRE(whole);
  }
  CHECK(read == written);
  CHECK(written > 10000);
  munmap(base, 2 * page);
}

TEST_CASE(
    "tracepoint_format: the layout of sched_switch is taken from the "
    "kernel's text",
    "[recorder]") {
  const std::string text =
      "name: sched_switch\nID: 372\nformat:\n"
      "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
      "\n"
      "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
      "\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
      "\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n"
      "\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n";
  const auto fields = ParseTracepointFormat(text);
  REQUIRE(fields.ok());
  REQUIRE(fields->size() == 5);
  CHECK((*fields)[1].name == "prev_comm");
  CHECK((*fields)[3].is_signed);
  const auto format = ParseSwitchFormat(text);
  REQUIRE(format.ok());
  CHECK(format->prev_tid_offset == 24);
  CHECK(format->prev_state_size == 8);
  CHECK(format->next_tid_offset == 56);
  CHECK(format->raw_bytes == 60);
  CHECK_FALSE(ParseSwitchFormat(text.substr(0, text.size() / 2)).ok());
  CHECK_FALSE(ParseSwitchFormat("").ok());
}

TEST_CASE("tracepoint_format: task states map to the format's", "[recorder]") {
  CHECK(MapSwitchState(0) == logformat::kSwitchRunnable);
  CHECK(MapSwitchState(1) == logformat::kSwitchInterruptible);
  CHECK(MapSwitchState(2) == logformat::kSwitchUninterruptible);
  CHECK(MapSwitchState(4) == logformat::kSwitchStopped);
  CHECK(MapSwitchState(8) == logformat::kSwitchTraced);
  CHECK(MapSwitchState(0x10) == logformat::kSwitchDead);
  CHECK(MapSwitchState(0x20) == logformat::kSwitchDead);
  CHECK(MapSwitchState(0x40) == logformat::kSwitchOther);
  CHECK(MapSwitchState(0x80) == logformat::kSwitchOther);
  CHECK(MapSwitchState(0x100) == logformat::kSwitchPreempted);
}

TEST_CASE("cpu_list: the kernel's lists parse, anything else is refused",
          "[recorder]") {
  using Cpus = std::vector<std::uint32_t>;
  CHECK(*ParseCpuList("0-1\n") == Cpus{0, 1});
  CHECK(*ParseCpuList("0,3-7") == Cpus{0, 3, 4, 5, 6, 7});
  CHECK(*ParseCpuList("5,0-1,1") == Cpus{0, 1, 5});
  CHECK(ParseCpuList("")->empty());
  for (const char* bad : {"a", "1-", "3-1", "0,,1", "0,", "-1", "99999999"}) {
    CAPTURE(bad);
    CHECK_FALSE(ParseCpuList(bad).ok());
  }
  CHECK_FALSE(OnlineCpus()->empty());
}

TEST_CASE("process_scan: names may hold anything", "[recorder]") {
  const auto thread = ParseTaskStat(
      "12 (a) b (c) S 7 1 1 0 -1 2129984 0 0 0 0 1 2 0 0 20 0 1 0 4711 0 0");
  REQUIRE(thread.has_value());
  CHECK(thread->tid == 12);
  CHECK(thread->comm == "a) b (c");
  CHECK(thread->state == 'S');
  CHECK(thread->parent_pid == 7);
  CHECK(thread->start_ticks == 4711);
  CHECK(thread->is_kernel_thread);
  CHECK_FALSE(thread->has_executed);
  CHECK_FALSE(ParseTaskStat("garbage").has_value());
  CHECK_FALSE(ParseTaskStat("").has_value());
  bool found = false;
  for (const ProcessThread& own : ScanThreadsOf(getpid())) {
    found |= own.tid == gettid() && own.pid == getpid() &&
             own.parent_pid == getppid() && !own.is_kernel_thread;
  }
  CHECK(found);
  CHECK(IsProcessAlive(getpid()));
}

}  // namespace countrace::runtime
