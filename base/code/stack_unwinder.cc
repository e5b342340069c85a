#include "base/code/stack_unwinder.h"

#include <elfutils/libdwfl.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "base/code/user_registers.h"

namespace countrace::base {
namespace {

// So many processes and files are kept open; then it begins anew.
constexpr std::size_t kMostProcesses = 256, kMostFiles = 256;

// Size of the instruction that calls the kernel.
#if defined(__x86_64__)
constexpr std::uint64_t kSystemCallBytes = 2;
#else
constexpr std::uint64_t kSystemCallBytes = 4;
#endif

}  // namespace

// A process as libdwfl sees it. Modules are added where frames lie.
struct StackUnwinder::Process {
  CodeMap& map;
  UnwindFiles& files;
  UnwoundStack& result;
  const std::int32_t pid;
  Dwfl* dwfl = nullptr;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> modules;
  // The sample that is being unwound.
  UserRegisters registers;
  std::span<const std::byte> stack;
  bool read_behind = false;  // by the last frame
  bool at_entry = false;     // the last frame is where its file is entered

  Process(CodeMap& code_map, UnwindFiles& open_files,
          UnwoundStack& stack_result, std::int32_t number)
      : map(code_map), files(open_files), result(stack_result), pid(number) {}
  ~Process() {
    if (dwfl != nullptr) dwfl_end(dwfl);
  }
  void AddModule(std::uint64_t address);
  bool IsEntry(CodePlace place);
  std::uint64_t BeforeSystemCall() const;
  bool Read(std::uint64_t address, Dwarf_Word& out);
  int TakeFrame(Dwfl_Frame* frame);
};

// What libdwfl calls.
struct StackUnwinder::Callbacks {
  static pid_t NextThread(Dwfl*, void* process, void** thread) {
    if (*thread != nullptr) return 0;
    *thread = process;
    return static_cast<Process*>(process)->pid;
  }
  static bool GetThread(Dwfl*, pid_t, void* process, void** thread) {
    *thread = process;
    return true;
  }
  static bool ReadMemory(Dwfl*, Dwarf_Addr address, Dwarf_Word* out,
                         void* process) {
    return static_cast<Process*>(process)->Read(address, *out);
  }
  static bool SetRegisters(Dwfl_Thread* thread, void* of_thread) {
    const UserRegisters& registers =
        static_cast<Process*>(of_thread)->registers;
    dwfl_thread_state_register_pc(thread, registers.program_counter);
    return dwfl_thread_state_registers(thread, 0, registers.count,
                                       registers.by_dwarf.data());
  }
  static int OnFrame(Dwfl_Frame* frame, void* process) {
    return static_cast<Process*>(process)->TakeFrame(frame);
  }
  static int FindElf(Dwfl_Module*, void** userdata, const char*, Dwarf_Addr,
                     char**, Elf** elf) {
    *elf = elf_begin(-1, ELF_C_READ, static_cast<Elf*>(*userdata));
    return -1;
  }
  // Frames' rules are in the file itself; nothing else is looked for.
  static int FindDebugInfo(Dwfl_Module*, void**, const char*, Dwarf_Addr,
                           const char*, const char*, GElf_Word, char**) {
    return -1;
  }
  static constexpr Dwfl_Callbacks kOfModules = {
      FindElf, FindDebugInfo, dwfl_offline_section_address, nullptr};
  static constexpr Dwfl_Thread_Callbacks kOfThreads = {
      NextThread, GetThread, ReadMemory, SetRegisters, nullptr, nullptr};
};

void StackUnwinder::Process::AddModule(std::uint64_t address) {
  if (dwfl_addrmodule(dwfl, address) != nullptr) return;
  const CodePlace place = map.Find(pid, address);
  const UnwindFile* const file = files.Find(pid, place.file);
  if (file == nullptr) return;
  const auto in_file = file->AddressOf(place.address);
  if (!in_file) return;
  const std::uint64_t bias = address - *in_file;
  const std::uint64_t begin = bias + file->begin(), end = bias + file->end();
  Dwfl_Module* const module =
      dwfl_report_module(dwfl, std::to_string(place.file).c_str(), begin, end);
  if (module == nullptr) return;
  void** userdata = nullptr;
  dwfl_module_info(module, &userdata, nullptr, nullptr, nullptr, nullptr,
                   nullptr, nullptr);
  *userdata = file->elf();
  modules.emplace_back(begin, end);
}

// The dynamic linker and some programs have no rules there, and it has no
// caller.
bool StackUnwinder::Process::IsEntry(CodePlace place) {
  const UnwindFile* const file = files.Find(pid, place.file);
  if (file == nullptr) return false;
  const auto address = file->AddressOf(place.address);
  constexpr std::uint64_t kMostBytes = 64;
  return address && *address >= file->entry() &&
         *address - file->entry() < kMostBytes;
}

// libc's rules of clone() end where it calls the kernel, as they are not those
// of the new thread. Returns an address before the call, whose rule holds for
// the caller; 0: the rules do not end there. Requires: the module was added.
std::uint64_t StackUnwinder::Process::BeforeSystemCall() const {
  const std::uint64_t counter = registers.program_counter;
  Dwarf_Addr bias = 0, begin = 0, end = 0;
  Dwarf_CFI* const rules =
      dwfl_module_eh_cfi(dwfl_addrmodule(dwfl, counter), &bias);
  if (rules == nullptr || counter - bias <= kSystemCallBytes) return 0;
  const auto find = [&](Dwarf_Addr address) {
    Dwarf_Frame* frame = nullptr;
    if (dwarf_cfi_addrframe(rules, address - bias, &frame) != 0) return false;
    bool is_signal = false;
    dwarf_frame_info(frame, &begin, &end, &is_signal);
    std::free(frame);
    return true;
  };
  const std::uint64_t before = counter - kSystemCallBytes - 1;
  if (find(counter) || !find(before)) return 0;
  const bool ends_there =
      end + bias == counter || end + bias == counter - kSystemCallBytes;
  return ends_there ? before : 0;
}

bool StackUnwinder::Process::Read(std::uint64_t address, Dwarf_Word& out) {
  const std::uint64_t offset = address - registers.stack_pointer;
  // Rules of frames read the stack alone.
  constexpr std::uint64_t kLargestStack = 1 << 30;
  if (stack.size() < sizeof(out) || offset > stack.size() - sizeof(out)) {
    read_behind |= offset < kLargestStack;
    return false;
  }
  std::memcpy(&out, stack.data() + offset, sizeof(out));
  return true;
}

int StackUnwinder::Process::TakeFrame(Dwfl_Frame* frame) {
  Dwarf_Addr counter = 0;
  if (!dwfl_frame_pc(frame, &counter, nullptr)) return DWARF_CB_ABORT;
  if (counter == 0) {  // where a chain of frame pointers ends
    result.end = UnwoundStack::End::kWhole;
    return DWARF_CB_ABORT;
  }
  if (result.frames.size() == kMostFrames) {
    result.end = UnwoundStack::End::kTruncated;
    return DWARF_CB_ABORT;
  }
  // A return address may be the first of the next function. Whether it is one
  // depends on the frame that called, so libdwfl takes that step to answer.
  AddModule(counter - 1);
  AddModule(counter);
  read_behind = false;
  bool activation = false;
  dwfl_frame_pc(frame, &counter, &activation);
  const CodePlace place = map.Find(pid, activation ? counter : counter - 1);
  const bool known = place.file != map.unknown();
  // What no code is mapped at is no caller.
  if (!known && !result.frames.empty()) return DWARF_CB_ABORT;
  result.frames.push_back(place);
  at_entry = IsEntry(place);
  return DWARF_CB_OK;
}

StackUnwinder::StackUnwinder(CodeMap& map) : map_(map), files_(map) {
  map_.OpenOwn(own_);
}

// Processes use the files.
StackUnwinder::~StackUnwinder() { processes_.clear(); }

void StackUnwinder::Forget(std::int32_t pid) { processes_.erase(pid); }

void StackUnwinder::Forget(std::int32_t pid, std::uint64_t begin,
                           std::uint64_t end) {
  const auto found = processes_.find(pid);
  if (found == processes_.end() || found->second == nullptr) return;
  const auto& modules = found->second->modules;
  if (std::any_of(modules.begin(), modules.end(), [&](const auto& module) {
        return module.first < end && begin < module.second;
      })) {
    processes_.erase(found);
  }
}

StackUnwinder::Process* StackUnwinder::Find(std::int32_t pid) {
  if (processes_.size() >= kMostProcesses || files_.size() >= kMostFiles) {
    processes_.clear();  // they use the files
    files_.Clear();
  }
  const auto [found, added] = processes_.try_emplace(pid);
  if (added) {
    auto process =
        std::unique_ptr<Process>(new Process(map_, files_, result_, pid));
    process->dwfl = dwfl_begin(&Callbacks::kOfModules);
    if (process->dwfl != nullptr &&
        dwfl_attach_state(process->dwfl, own_.elf(), pid,
                          &Callbacks::kOfThreads, process.get())) {
      found->second = std::move(process);
    }
  }
  return found->second.get();
}

const UnwoundStack& StackUnwinder::Unwind(std::int32_t pid,
                                          const StackCopy& copy) {
  result_.frames.clear();
  result_.end = UnwoundStack::End::kNotUnwound;
  const UserRegisters registers = ToUserRegisters(copy.registers);
  Process* const process = Find(pid);
  if (process == nullptr) {
    result_.frames.push_back(map_.Find(pid, registers.program_counter));
    return result_;
  }
  process->registers = registers;
  process->stack = copy.bytes;
  process->read_behind = process->at_entry = false;
  const auto follow = [&] {
    return dwfl_getthread_frames(process->dwfl, pid, Callbacks::OnFrame,
                                 process);
  };
  int status = follow();
  if (result_.frames.size() == 1 && status != 0) {
    const CodePlace innermost = result_.frames.front();
    if (const std::uint64_t before = process->BeforeSystemCall()) {
      process->registers.program_counter = before;
      process->read_behind = process->at_entry = false;
      result_.frames.clear();
      status = follow();
      if (!result_.frames.empty()) result_.frames.front() = innermost;
    }
  }
  if (status == DWARF_CB_ABORT) return result_;  // TakeFrame() said why
  // libdwfl calls a stack whole, too, whose return address it could not read.
  if (process->read_behind) {
    if (copy.is_cut) result_.end = UnwoundStack::End::kTruncated;
  } else if (status == 0 || process->at_entry) {
    result_.end = UnwoundStack::End::kWhole;
  }
  return result_;
}

}  // namespace countrace::base
