// More than 400 lines: one class, a function for each kind of user event.
#include "logformat/import/ctf/user_events.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "absl/strings/str_format.h"
#include "logformat/description/trace_description.h"

namespace countrace::importer {

using logformat::HookKind;
using logformat::PayloadType;

namespace {

// Tracks of requests: their ids come after the ids that represent streams.
constexpr std::int32_t kFirstTrack = kMadeUpTid + (1 << 20);
// For events whose thread is not recorded, one in each process.
constexpr std::int32_t kUnrecordedTid = kMadeUpTid + (1 << 21);

// "provider:name" of an event; a name without a provider gets "event".
std::pair<std::string, std::string> SplitName(const std::string& name) {
  const std::size_t colon = name.find(':');
  if (colon == std::string::npos || colon == 0) return {"event", name};
  return {name.substr(0, colon), name.substr(colon + 1)};
}

// As the hook of its events has them.
std::vector<std::string> NamesOf(const EventPlan& plan) {
  logformat::HookInfo hook;
  hook.payload = plan.payload_types;
  logformat::SetPayloadNames(plan.payload_names, hook);
  return hook.payload_names;
}

}  // namespace

std::uint32_t UserEvents::AddHook(HookKind kind, const std::string& name,
                                  const std::string& location,
                                  const std::vector<PayloadType>& types,
                                  const std::vector<std::string>& names) {
  logformat::HookInfo hook;
  hook.kind = kind;
  std::tie(hook.provider, hook.name) = SplitName(name);
  hook.location = location;
  hook.payload = types;
  hook.payload_names = names;
  return output_.AddHook(std::move(hook));
}

std::uint32_t UserEvents::NamedHook(HookKind kind, std::string_view name,
                                    bool payload, const std::string& location) {
  std::string key(kind == HookKind::kPoint ? "p" : "s");
  key += name;
  const auto found = named_.find(key);
  if (found != named_.end()) return found->second.id;
  std::vector<PayloadType> types;
  std::vector<std::string> names;
  if (payload) {
    types.push_back(PayloadType::kString);
    names.emplace_back("payload");
  }
  const std::uint32_t id =
      AddHook(kind, std::string(name), location, types, names);
  named_.emplace(std::move(key), Hook{id, payload});
  return id;
}

void UserEvents::Prepare(EventPlan& plan) {
  const std::string location = "event " + plan.name;
  switch (plan.kind) {
    case EventKind::kPoint: {
      std::string name = plan.name;
      for (const PointMapping& point : mapping_.points) {
        if (point.event == plan.name) name = point.name;
      }
      plan.hook_id = AddHook(HookKind::kPoint, name, location,
                             plan.payload_types, plan.payload_names);
      break;
    }
    case EventKind::kEnter:
    case EventKind::kRequestBegin: {
      std::uint32_t& hook = segment_hooks_[plan.segment_index];
      // The same event class in another stream; its payload may differ.
      if (hook != 0) {
        for (const logformat::HookInfo& known :
             output_.description().info.hooks) {
          if (known.id == hook && (known.payload != plan.payload_types ||
                                   known.payload_names != NamesOf(plan))) {
            hook = 0;
          }
        }
      }
      if (hook == 0) {
        hook = AddHook(HookKind::kSegment, plan.segment->name, location,
                       plan.payload_types, plan.payload_names);
      }
      plan.hook_id = hook;
      break;
    }
    default:
      break;
  }
}

OutputStream& UserEvents::ThreadOf(const SourceEvent& source,
                                   const EventPlan& plan) {
  SourceStream& stream = source.stream;
  auto tid = IntegerAt(source.event, plan.vtid);
  if (!tid) tid = IntegerAt(source.event, plan.tid);
  auto pid = IntegerAt(source.event, plan.vpid);
  if (!pid) pid = IntegerAt(source.event, plan.pid);
  std::int32_t process = pid ? static_cast<std::int32_t>(*pid) : stream.pid;
  std::int32_t thread = tid ? static_cast<std::int32_t>(*tid) : -1;
  if (thread < 0) {
    if (stream.per_cpu) {
      // Events of several threads, interleaved: nesting is unknown.
      thread = kUnrecordedTid;
      if (process < 0) process = kUnrecordedTid;
      unknown_thread_ = true;
    } else {
      thread = stream.made_up_tid;
      if (process < 0) process = thread;
      made_up_thread_ = true;
    }
  } else if (process < 0) {
    process = thread;
  }
  if (stream.last != nullptr && stream.last_pid == process &&
      stream.last_tid == thread) [[likely]] {
    return *stream.last;
  }
  stream.last = &output_.Thread(process, thread);
  stream.last_pid = process;
  stream.last_tid = thread;
  std::string& comm = processes_[process];
  if (comm.empty() && plan.procname) {
    comm = TextAt(source.event, plan.procname).value_or("").substr(0, 15);
  }
  if (comm.empty() && thread == kUnrecordedTid) comm = "[not recorded]";
  if (comm.empty() && thread == stream.made_up_tid) {
    comm = stream.name.empty() ? "[stream]" : stream.name;
    comm = comm.substr(comm.rfind('/') + 1).substr(0, 15);
  }
  return *stream.last;
}

bool UserEvents::Dump(const SourceEvent& source, const EventPlan& plan) {
  body_.clear();
  if (plan.counters.empty()) return false;
  logformat::ThreadDump head{.mmcr = 0, .present = 0};
  body_.resize(sizeof(head) + counters_ * sizeof(std::uint64_t), '\0');
  for (const CounterPlace& counter : plan.counters) {
    const auto value = source.event.Integer(counter.field);
    if (!value) continue;
    head.present |= 1u << counter.slot;
    if (uncertain_ >> counter.slot & 1u) {
      head.present |= 1u << (16 + counter.slot);
    }
    std::memcpy(body_.data() + sizeof(head) + counter.slot * sizeof(*value),
                &*value, sizeof(*value));
  }
  std::memcpy(body_.data(), &head, sizeof(head));
  return true;
}

void UserEvents::AppendRaw(OutputStream& thread, const SourceEvent& source,
                           const EventPlan& plan, std::uint32_t event_id,
                           std::string_view payload) {
  if (Dump(source, plan)) event_id |= logformat::kEventDumpBit;
  body_ += payload;
  output_.Append(thread, static_cast<std::uint16_t>(event_id), source.time_ns,
                 std::as_bytes(std::span(body_)));
}

void UserEvents::Append(OutputStream& thread, const SourceEvent& source,
                        const EventPlan& plan, std::uint32_t event_id,
                        bool payload) {
  if (Dump(source, plan)) event_id |= logformat::kEventDumpBit;
  if (payload) source.event.AppendPayload(body_);
  output_.Append(thread, static_cast<std::uint16_t>(event_id), source.time_ns,
                 std::as_bytes(std::span(body_)));
}

std::string UserEvents::KeyOf(const EventFields& event,
                              const EventPlan& plan) const {
  std::string key;
  for (const FieldPlace& place : plan.key) {
    event.AppendText(place, key);
    key += '\0';
  }
  return key;
}

void UserEvents::EnterKeyed(OutputStream& thread, const SourceEvent& source,
                            const EventPlan& plan) {
  open_[&thread].push_back({plan.hook_id, KeyOf(source.event, plan)});
  Append(thread, source, plan, plan.hook_id * 2, true);
}

void UserEvents::ExitKeyed(OutputStream& thread, const SourceEvent& source,
                           const EventPlan& plan) {
  std::vector<OpenCall>& calls = open_[&thread];
  const std::uint32_t hook = segment_hooks_[plan.segment_index];
  const std::string key = KeyOf(source.event, plan);
  const auto call =
      std::find_if(calls.rbegin(), calls.rend(), [&](const OpenCall& open) {
        return open.hook_id == hook && open.key == key;
      });
  if (call == calls.rend()) {
    ++ends_without_begin_;
    return;
  }
  // Calls inside it that have not ended end here, as in rmap.
  if (call != calls.rbegin()) ++overlapped_;
  calls.erase(std::prev(call.base()), calls.end());
  Append(thread, source, plan, hook * 2 + logformat::kEventExitBit, false);
}

void UserEvents::BeginRequest(OutputStream& thread, const SourceEvent& source,
                              const EventPlan& plan) {
  auto& open = requests_[plan.segment_index];
  const std::int32_t pid = thread.pid;
  if (in_flight_ >= kMaxTracks) {
    ++requests_lost_;
    return;
  }
  Tracks& tracks = tracks_[pid];
  std::int32_t tid = 0;
  if (tracks.free.empty()) {
    tid = kFirstTrack + next_track_++;
  } else {
    tid = tracks.free.back();
    tracks.free.pop_back();
  }
  OutputStream& track = output_.Thread(pid, tid);
  const auto [at, added] =
      open.try_emplace(KeyOf(source.event, plan), Request{&track, pid});
  if (!added) {
    // It began again before it ended: the first end is not known.
    ++same_key_;
    tracks_[at->second.pid].free.push_back(at->second.track->tid);
    at->second = {&track, pid};
  } else {
    ++in_flight_;
  }
  requests_seen_.insert(plan.segment->name);
  Append(track, source, plan, plan.hook_id * 2, true);
}

void UserEvents::EndRequest(const SourceEvent& source, const EventPlan& plan) {
  auto& open = requests_[plan.segment_index];
  const auto request = open.find(KeyOf(source.event, plan));
  if (request == open.end()) {
    ++ends_without_begin_;
    return;
  }
  OutputStream& track = *request->second.track;
  const std::uint32_t hook = segment_hooks_[plan.segment_index];
  Append(track, source, plan, hook * 2 + logformat::kEventExitBit, false);
  tracks_[request->second.pid].free.push_back(track.tid);
  open.erase(request);
  --in_flight_;
}

void UserEvents::OnNamed(OutputStream& thread, const SourceEvent& source,
                         const EventPlan& plan) {
  const auto name = plan.Text(source.event, 0);
  if (!name) return;
  const bool point = plan.kind == EventKind::kNamedPoint;
  const bool exit = plan.kind == EventKind::kNamedExit;
  const std::uint32_t hook =
      NamedHook(point ? HookKind::kPoint : HookKind::kSegment, *name, true,
                "event " + plan.name);
  if (hook == 0) {
    ++unhooked_;
    return;
  }
  text_.clear();
  if (!exit) {
    if (const auto payload = plan.Text(source.event, 1)) {
      text_ = *payload;
    } else if (plan.fields[1]) {
      source.event.AppendText(*plan.fields[1], text_);
    }
    text_.resize(std::min(text_.size(), logformat::kMaxStringBytes - 1));
    text_ += '\0';
  }
  AppendRaw(thread, source, plan, hook * 2 + (exit ? 1 : 0), text_);
}

void UserEvents::OnFunction(OutputStream& thread, const SourceEvent& source,
                            const EventPlan& plan) {
  const auto address = plan.Field(source.event, 0);
  const bool exit = plan.kind == EventKind::kFunctionExit;
  if (!address && !exit) return;
  std::vector<std::uint32_t>& open = open_functions_[&thread];
  std::uint32_t hook = 0;
  if (address) {
    hook = FunctionHook(thread.pid, static_cast<std::uint64_t>(*address));
  } else if (open.empty()) {
    ++ends_without_begin_;
    return;
  } else {
    hook = open.back();
  }
  if (!exit) {
    open.push_back(hook);
  } else if (const auto call = std::find(open.rbegin(), open.rend(), hook);
             call != open.rend()) {
    open.erase(std::prev(call.base()), open.end());
  }
  if (hook == 0) return;
  AppendRaw(thread, source, plan,
            hook * 2 + (exit ? logformat::kEventExitBit : 0), "");
}

std::uint32_t UserEvents::FunctionHook(std::int32_t pid,
                                       std::uint64_t address) {
  const std::uint64_t key =
      address ^ std::uint64_t{static_cast<std::uint32_t>(pid)} << 40;
  const auto [found, added] = functions_.try_emplace(key, 0);
  if (added) {
    found->second =
        NamedHook(HookKind::kSegment, "function:" + names_.NameOf(pid, address),
                  false, "lttng_ust_cyg_profile");
    // One shared hook for all that have none of their own.
    if (found->second == 0) ++unhooked_;
  }
  return found->second;
}

void UserEvents::OnObject(const SourceEvent& source, const EventPlan& plan) {
  auto pid = IntegerAt(source.event, plan.vpid);
  if (!pid) pid = source.stream.pid;
  const auto begin = plan.Field(source.event, 0);
  const auto bytes = plan.Field(source.event, 1);
  if (!begin || *pid < 0) return;
  if (plan.fields[4]) {
    if (auto id = source.event.Bytes(*plan.fields[4], 64)) {
      names_.SetBuildId(static_cast<std::int32_t>(*pid),
                        static_cast<std::uint64_t>(*begin), *std::move(id));
      return;
    }
  }
  const auto path = plan.Text(source.event, 2);
  if (!path || !bytes) return;
  names_.AddObject(static_cast<std::int32_t>(*pid),
                   static_cast<std::uint64_t>(*begin),
                   static_cast<std::uint64_t>(*bytes), std::string(*path),
                   plan.Field(source.event, 3).value_or(1) != 0);
}

void UserEvents::OnEvent(const SourceEvent& source, const EventPlan& plan) {
  if (plan.kind == EventKind::kObjectLoaded) {
    OnObject(source, plan);
    ++left_out_[plan.name];
    return;
  }
  OutputStream& thread = ThreadOf(source, plan);
  const bool unknown = thread.tid == kUnrecordedTid;
  switch (plan.kind) {
    case EventKind::kIgnored:
      ++left_out_[plan.name];
      return;
    case EventKind::kPoint:
      if (plan.hook_id == 0) break;
      Append(thread, source, plan, plan.hook_id * 2, true);
      return;
    case EventKind::kEnter:
      if (plan.hook_id == 0 || unknown) break;
      if (!plan.key.empty()) {
        EnterKeyed(thread, source, plan);
      } else {
        Append(thread, source, plan, plan.hook_id * 2, true);
      }
      return;
    case EventKind::kExit:
      if (segment_hooks_[plan.segment_index] == 0 && !unknown) {
        // No begin came yet, so its hook is not described.
        ++ends_without_begin_;
        return;
      }
      if (unknown) break;
      if (!plan.key.empty()) {
        ExitKeyed(thread, source, plan);
      } else {
        Append(
            thread, source, plan,
            segment_hooks_[plan.segment_index] * 2 + logformat::kEventExitBit,
            false);
      }
      return;
    case EventKind::kRequestBegin:
      if (plan.hook_id == 0) break;
      BeginRequest(thread, source, plan);
      return;
    case EventKind::kRequestEnd:
      EndRequest(source, plan);
      return;
    case EventKind::kNamedEnter:
    case EventKind::kNamedExit:
    case EventKind::kNamedPoint:
      if (unknown && plan.kind != EventKind::kNamedPoint) break;
      OnNamed(thread, source, plan);
      return;
    case EventKind::kFunctionEnter:
    case EventKind::kFunctionExit:
      if (unknown) break;
      OnFunction(thread, source, plan);
      return;
    default:
      return;
  }
  ++unhooked_;
}

void UserEvents::OnLoss(SourceStream& stream, logformat::DiscardCause cause,
                        std::uint64_t records, std::uint64_t packets,
                        std::uint64_t begin_ns, std::uint64_t end_ns) {
  // A buffer belongs to all threads, or to those of one process: its losses go
  // into a stream of losses without a thread.
  const std::int32_t pid = std::max(stream.pid, 0);
  // What was open there may have ended, and others begun.
  absl::erase_if(open_functions_, [pid](const auto& thread) {
    return pid == 0 || thread.first->pid == pid;
  });
  output_.Lose(output_.Thread(pid, 0), cause, records, packets, begin_ns,
               end_ns);
}

void UserEvents::Finish() {
  logformat::TraceInfo& info = output_.description().info;
  for (const auto& [pid, comm] : processes_) {
    if (pid <= 0 || comm.empty()) continue;
    std::string name = comm;
    std::replace(name.begin(), name.end(), '\t', '?');
    std::replace(name.begin(), name.end(), '\n', '?');
    info.processes.push_back({pid, std::move(name)});
  }
  std::vector<std::string>& not_known = info.not_known;
  std::string names;
  std::uint64_t left_out = 0;
  for (const auto& [name, count] : left_out_) {
    absl::StrAppendFormat(&names, "%s%s (%d)", names.empty() ? "" : ", ", name,
                          count);
    left_out += count;
  }
  if (left_out != 0) {
    not_known.push_back(absl::StrFormat(
        "%d events that are in the source and not in this trace: %s", left_out,
        names));
  }
  if (unknown_thread_) {
    not_known.push_back(
        "which thread events are of (no context vtid): they are of [not "
        "recorded], begins and ends of segments are left out; record with "
        "`lttng add-context -u -t vpid -t vtid -t procname`");
  }
  if (made_up_thread_) {
    not_known.push_back(
        "which thread events are of: each stream stands for one, with an id "
        "from 4194304 on");
  }
  for (const std::string& name : requests_seen_) {
    not_known.push_back(absl::StrFormat(
        "on-CPU time and counts of `%s`: its calls are of no thread, so only "
        "their number and durations are reported",
        name));
  }
  if (overlapped_ != 0) {
    not_known.push_back(absl::StrFormat(
        "the ends of calls in which %d others ended first, out of order: such "
        "calls need across_threads = true in the mapping file",
        overlapped_));
  }
  if (ends_without_begin_ != 0) {
    not_known.push_back(absl::StrFormat(
        "the begins of %d calls that ended: they came before the recording, "
        "were lost, or have another key",
        ends_without_begin_));
  }
  if (same_key_ != 0) {
    not_known.push_back(absl::StrFormat(
        "the ends of %d requests whose key came again before they ended",
        same_key_));
  }
  if (requests_lost_ != 0) {
    not_known.push_back(
        absl::StrFormat("%d requests that came while %d others were open",
                        requests_lost_, kMaxTracks));
  }
  if (unhooked_ != 0) {
    not_known.push_back(absl::StrFormat(
        "%d events or functions that have no hook: a trace holds %d of them, "
        "or their thread is not recorded",
        unhooked_, logformat::kHookIdKernelMin - 1));
  }
}

}  // namespace countrace::importer
