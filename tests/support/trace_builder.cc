#include "tests/support/trace_builder.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>
#include <span>

#include "absl/status/status.h"
#include "logformat/event_sets.h"

namespace countrace::test_support {
namespace {

using logformat::CpuEvent;
using logformat::SessionControl;

void Check(bool ok, const std::string& what) {
  if (ok) return;
  std::fprintf(stderr, "trace_builder: %s: %s\n", what.c_str(),
               std::strerror(errno));
  std::abort();
}
void Check(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "trace_builder: %s\n", status.ToString().c_str());
  std::abort();
}

class BodyBytes {
 public:
  template <typename T>
  BodyBytes& Add(T value) {
    const auto bytes = std::as_bytes(std::span<const T, 1>(&value, 1));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  BodyBytes& AddText(std::string_view text, std::size_t width) {
    for (std::size_t i = 0; i < width; ++i) {
      bytes_.push_back(i < text.size() ? static_cast<std::byte>(text[i])
                                       : std::byte{0});
    }
    return *this;
  }
  BodyBytes& AddAll(const std::vector<std::uint64_t>& values) {
    for (const std::uint64_t value : values) Add(value);
    return *this;
  }
  std::vector<std::byte>& bytes() { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

template <std::size_t N>
void SetText(char (&field)[N], std::string_view text) {
  std::memset(field, 0, N);
  std::memcpy(field, text.data(), std::min(text.size(), N - 1));
}

void AddDump(const std::optional<logformat::ThreadDump>& head,
             const std::vector<std::uint64_t>& counters, BodyBytes& body) {
  if (head && !counters.empty()) body.Add(*head);
  body.AddAll(counters);
}

bool Put(logformat::PacketWriter& writer, CpuEvent event, std::uint64_t time_ns,
         BodyBytes& body) {
  return writer.Append(static_cast<std::uint16_t>(event), time_ns,
                       body.bytes());
}

}  // namespace

TempDirectory::TempDirectory(Place place) {
  const char* base = std::getenv("TMPDIR");
  if (place == Place::kMemory && access("/dev/shm", W_OK) == 0) {
    base = "/dev/shm";
  }
  path_ = std::string(base != nullptr ? base : "/tmp") + "/countrace-XXXXXX";
  Check(mkdtemp(path_.data()) != nullptr, path_);
}

TempDirectory::~TempDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::vector<std::byte> EncodePayload(const Payload& payload) {
  BodyBytes body;
  for (const PayloadValue& value : payload) {
    if (const auto* text = std::get_if<std::string>(&value)) {
      body.AddText(*text, text->size() + 1);
    } else if (const auto* pointer = std::get_if<Pointer>(&value)) {
      body.Add(pointer->value);
    } else if (const auto* number = std::get_if<double>(&value)) {
      body.Add(*number);
    } else if (const auto* integer = std::get_if<std::int64_t>(&value)) {
      body.Add(*integer);
    } else {
      body.Add(std::get<std::uint64_t>(value));
    }
  }
  while (body.bytes().size() % logformat::kRecordAlignBytes != 0) {
    body.bytes().push_back(std::byte{0});
  }
  return std::move(body.bytes());
}

bool CpuStreamBuilder::Dispatch(std::uint64_t time_ns, std::uint32_t prev_tid,
                                std::uint32_t next_tid, std::uint16_t state,
                                const std::vector<std::uint64_t>& counters) {
  BodyBytes body;
  body.Add(logformat::PackDispatch(prev_tid, next_tid, state));
  AddDump(head_, counters, body);
  return Put(*writer_, CpuEvent::kDispatch, time_ns, body);
}

bool CpuStreamBuilder::SwitchIn(std::uint64_t time_ns, std::uint32_t prev,
                                std::uint32_t next) {
  BodyBytes body;
  body.Add(logformat::PackDispatch(prev, next, 0));
  return Put(*writer_, CpuEvent::kSwitchIn, time_ns, body);
}

bool CpuStreamBuilder::Wakeup(std::uint64_t time_ns, std::uint32_t waker,
                              std::uint32_t wakee, std::uint16_t target_cpu) {
  BodyBytes body;
  body.Add(logformat::PackDispatch(waker, wakee, target_cpu));
  return Put(*writer_, CpuEvent::kWakeup, time_ns, body);
}

bool CpuStreamBuilder::KernelHook(std::uint64_t time_ns, std::uint16_t event_id,
                                  std::uint64_t ids,
                                  const std::vector<std::uint64_t>& counters,
                                  std::optional<std::int64_t> ret,
                                  const Payload& payload) {
  BodyBytes body;
  body.Add(ids);
  AddDump(head_, counters, body);
  if (ret) body.Add(*ret);
  const std::vector<std::byte> values = EncodePayload(payload);
  body.bytes().insert(body.bytes().end(), values.begin(), values.end());
  return Put(*writer_, static_cast<CpuEvent>(event_id), time_ns, body);
}

bool CpuStreamBuilder::Counters(std::uint64_t time_ns,
                                logformat::CountersReason reason,
                                std::uint32_t running_tid,
                                const std::vector<std::uint64_t>& counters) {
  BodyBytes body;
  body.Add(static_cast<std::uint32_t>(reason)).Add(running_tid);
  AddDump(head_, counters, body);
  return Put(*writer_, CpuEvent::kCounters, time_ns, body);
}

bool CpuStreamBuilder::Fork(std::uint64_t time_ns, std::int32_t pid,
                            std::int32_t tid, std::int32_t parent_pid,
                            std::int32_t parent_tid) {
  BodyBytes body;
  body.Add(pid).Add(tid).Add(parent_pid).Add(parent_tid);
  return Put(*writer_, CpuEvent::kFork, time_ns, body);
}

bool CpuStreamBuilder::Exit(std::uint64_t time_ns, std::int32_t pid,
                            std::int32_t tid, std::int32_t parent_pid,
                            std::int32_t parent_tid) {
  BodyBytes body;
  body.Add(pid).Add(tid).Add(parent_pid).Add(parent_tid);
  return Put(*writer_, CpuEvent::kExit, time_ns, body);
}

bool CpuStreamBuilder::Exec(std::uint64_t time_ns, std::int32_t pid,
                            std::int32_t tid, std::string_view comm) {
  BodyBytes body;
  body.Add(pid).Add(tid).AddText(comm, 16);
  return Put(*writer_, CpuEvent::kExec, time_ns, body);
}

bool CpuStreamBuilder::Comm(std::uint64_t time_ns, std::int32_t pid,
                            std::int32_t tid, std::string_view comm) {
  BodyBytes body;
  body.Add(pid).Add(tid).AddText(comm, 16);
  return Put(*writer_, CpuEvent::kComm, time_ns, body);
}

bool CpuStreamBuilder::Fault(std::uint64_t time_ns, std::int32_t pid,
                             std::int32_t tid, std::uint64_t address) {
  BodyBytes body;
  body.Add(pid).Add(tid).Add(address);
  return Put(*writer_, CpuEvent::kFault, time_ns, body);
}

bool CpuStreamBuilder::ProcessState(std::uint64_t time_ns, std::int32_t pid,
                                    std::int32_t tid, std::int32_t parent_pid,
                                    std::uint32_t flags,
                                    std::string_view comm) {
  BodyBytes body;
  body.Add(pid).Add(tid).Add(parent_pid).Add(flags).AddText(comm, 16);
  return Put(*writer_, CpuEvent::kProcessState, time_ns, body);
}

bool CpuStreamBuilder::Owner(std::uint64_t time_ns,
                             const logformat::OwnerRecord& owner) {
  BodyBytes body;
  body.Add(owner.pid).Add(owner.uid).Add(owner.cgroup);
  body.Add(owner.own_pid).Add(owner.host_pid);
  return Put(*writer_, CpuEvent::kOwner, time_ns, body);
}

bool ThreadStreamBuilder::Append(std::uint32_t event_id, std::uint64_t time_ns,
                                 const Payload& payload,
                                 const std::optional<Dump>& dump) {
  BodyBytes body;
  if (dump) {
    event_id |= logformat::kEventDumpBit;
    body.Add(logformat::ThreadDump{dump->mmcr, dump->present});
    body.AddAll(dump->counters);
  }
  const std::vector<std::byte> values = EncodePayload(payload);
  body.bytes().insert(body.bytes().end(), values.begin(), values.end());
  return writer_->Append(static_cast<std::uint16_t>(event_id), time_ns,
                         body.bytes());
}

bool ThreadStreamBuilder::Enter(std::uint32_t hook_id, std::uint64_t time_ns,
                                const Payload& payload,
                                const std::optional<Dump>& dump) {
  return Append(hook_id * 2, time_ns, payload, dump);
}

bool ThreadStreamBuilder::Exit(std::uint32_t hook_id, std::uint64_t time_ns,
                               const std::optional<Dump>& dump) {
  return Append(hook_id * 2 + logformat::kEventExitBit, time_ns, {}, dump);
}

void ThreadStreamBuilder::SetThread(std::int32_t pid, std::int32_t tid) {
  writer_->SetPacketIdentity(pid, tid, 0, 0);
}

TraceBuilder::TraceBuilder(const std::string& directory)
    : directory_(directory) {
  Check(mkdir(directory_.c_str(), 0700) == 0, directory_);
  std::ofstream(directory_ + "/" + logformat::kIncompleteFile);
  std::ofstream(directory_ + "/" + logformat::kHooksFile);
  const std::string file = directory_ + "/" + logformat::kSessionFile;
  const int fd = open(file.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
  Check(fd >= 0, file);
  Check(ftruncate(fd, sizeof(SessionControl)) == 0, file);
  void* data = mmap(nullptr, sizeof(SessionControl), PROT_READ | PROT_WRITE,
                    MAP_SHARED, fd, 0);
  Check(data != MAP_FAILED, file);
  close(fd);
  session_ = new (data) SessionControl();
  session_->version = logformat::kSessionVersion;
  session_->bytes = sizeof(SessionControl);
  for (std::uint8_t i = 0; i < 16; ++i) {
    session_->uuid[i] = static_cast<std::uint8_t>(i * 17);
    session_->boot_id[i] = static_cast<std::uint8_t>(0xf0 + i);
  }
  session_->state = logformat::SessionState::kRecording;
  session_->scope = logformat::SessionScope::kSystem;
  session_->recorder_pid = 1;
  session_->cpus = 2;
  session_->realtime_offset_ns = 1'700'000'000'123'456'789;
  SetText(session_->hostname, "testhost");
  SetText(session_->kernel_release, "6.1.0-test");
  SetText(session_->command, "./server --bench");
  session_->magic = logformat::kSessionMagic;
}

TraceBuilder::~TraceBuilder() {
  if (session_ != nullptr) munmap(session_, sizeof(SessionControl));
}

void TraceBuilder::SetCpuEvents(const std::vector<std::string>& names,
                                const std::vector<std::uint32_t>& set_sizes) {
  Check(cpus_.empty() && names.size() <= logformat::kMaxEvents, "cpu events");
  session_->cpu_event_count = static_cast<std::uint32_t>(names.size());
  session_->cpu_set_count = static_cast<std::uint32_t>(set_sizes.size());
  std::vector<logformat::SessionEvent> events(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    SetText(events[i].name, names[i]);
  }
  if (logformat::AreMany(names.size(), set_sizes.size())) {
    std::ofstream file(directory_ + "/" + logformat::kCpuEventsFile,
                       std::ios::binary);
    const auto write = [&file](const auto& values) {
      file.write(
          reinterpret_cast<const char*>(values.data()),
          static_cast<std::streamsize>(values.size() * sizeof(values.front())));
    };
    write(events);
    write(set_sizes);
  } else {
    std::copy(events.begin(), events.end(), session_->cpu_events);
    std::copy(set_sizes.begin(), set_sizes.end(), session_->cpu_set_sizes);
  }
  logformat::EventSets sets{names.size(), {}, /*running_slot=*/true};
  sets.sizes.assign(set_sizes.begin(), set_sizes.end());
  Check(sets.valid(), "cpu event sets");
  cpu_values_ = sets.rotates() ? 0 : sets.slots();
}

void TraceBuilder::SetThreadEvents(
    const std::vector<std::string>& names,
    const std::vector<std::uint32_t>& set_sizes) {
  Check(names.size() <= logformat::kSessionEvents, "thread events");
  session_->thread_event_count = static_cast<std::uint32_t>(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    SetText(session_->thread_events[i].name, names[i]);
  }
  session_->thread_set_count = static_cast<std::uint32_t>(set_sizes.size());
  std::copy(set_sizes.begin(), set_sizes.end(), session_->thread_set_sizes);
}

std::uint32_t TraceBuilder::AddHook(std::string_view kind,
                                    std::string_view provider,
                                    std::string_view name,
                                    std::string_view types, std::uint32_t id) {
  if (id == 0) id = next_hook_id_++;
  std::ofstream file(directory_ + "/" + logformat::kHooksFile, std::ios::app);
  file << id << '\t' << kind << '\t' << (types.empty() ? "-" : types) << '\t'
       << provider << ':' << name << "\ttest.cc:1\n";
  Check(file.flush().good(), "cannot write .hooks");
  return id;
}

std::uint32_t TraceBuilder::AddKernelHook(std::string_view kind,
                                          std::string_view provider,
                                          std::string_view name,
                                          std::string_view types,
                                          std::string_view value_names) {
  const std::uint32_t id = next_kernel_hook_id_++;
  std::ofstream file(directory_ + "/" + logformat::kKernelHooksFile,
                     std::ios::app);
  file << id << '\t' << kind << '\t' << types << '\t' << provider << ':' << name
       << "\tkernel" << (value_names.empty() ? "" : "\t") << value_names
       << '\n';
  Check(file.flush().good(), "cannot write .kernel_hooks");
  return id;
}

std::uint32_t TraceBuilder::AddSegment(std::string_view provider,
                                       std::string_view name,
                                       std::string_view types,
                                       std::uint32_t id) {
  return AddHook("segment", provider, name, types, id);
}

std::uint32_t TraceBuilder::AddPoint(std::string_view provider,
                                     std::string_view name,
                                     std::string_view types, std::uint32_t id) {
  return AddHook("point", provider, name, types, id);
}

logformat::PacketWriterOptions TraceBuilder::Options() const {
  logformat::PacketWriterOptions options;
  options.directory = directory_;
  std::copy(std::begin(session_->uuid), std::end(session_->uuid),
            options.uuid.begin());
  options.packet_bytes = packet_bytes_;
  return options;
}

CpuStreamBuilder& TraceBuilder::Cpu(std::int32_t cpu) {
  const auto found = cpus_.find(cpu);
  if (found != cpus_.end()) return found->second;
  logformat::PacketWriterOptions options = Options();
  options.file = "cpu-" + std::to_string(cpu);
  options.stream_class = logformat::StreamClass::kCpu;
  options.cpu = cpu;
  options.present = (1u << cpu_values_) - 1;
  auto writer = logformat::PacketWriter::Create(options);
  Check(writer.status());
  return cpus_.emplace(cpu, *std::move(writer)).first->second;
}

ThreadStreamBuilder& TraceBuilder::Thread(std::int32_t pid, std::int32_t tid) {
  const auto found = threads_.find({pid, tid});
  if (found != threads_.end()) return found->second;
  logformat::PacketWriterOptions options = Options();
  options.file = "thread-" + std::to_string(pid) + "-" + std::to_string(tid);
  options.stream_class = logformat::StreamClass::kThread;
  options.pid = pid;
  options.tid = tid;
  auto writer = logformat::PacketWriter::Create(options);
  Check(writer.status());
  return threads_.emplace(std::make_pair(pid, tid), *std::move(writer))
      .first->second;
}

void TraceBuilder::CloseStreams() {
  for (auto& [cpu, stream] : cpus_) Check(stream.writer().Close());
  for (auto& [thread, stream] : threads_) Check(stream.writer().Close());
  session_->state = logformat::SessionState::kStopped;
}

void TraceBuilder::Abandon() {
  for (auto& [cpu, stream] : cpus_) stream.writer().Abandon();
  for (auto& [thread, stream] : threads_) stream.writer().Abandon();
}

logformat::FinishResult TraceBuilder::Finish() {
  CloseStreams();
  auto result = logformat::FinishTrace(directory_, {});
  Check(result.status());
  return *std::move(result);
}

}  // namespace countrace::test_support
