#include "rmap/code/code_service.h"

#include <sys/stat.h>

#include <utility>
#include <vector>

namespace countrace::rmap {

using base::Message;
using base::MessageOf;
using base::ScopedFd;

namespace {

// What `countrace` sends has no more.
constexpr std::uint64_t kMostRequestBytes = std::uint64_t{1} << 20;

std::string Failed(const absl::Status& status) {
  return MessageOf(CodeMessage::kFailed, std::string(status.message()));
}

}  // namespace

void CodeService::Run() {
  Message request;
  while (base::ReceiveMessage(socket_, kMostRequestBytes, request) &&
         base::SendMessage(socket_, Answer(request))) {
  }
}

std::string CodeService::Answer(Message& request) {
  base::MessageReader reader(request.text);
  CodeMessage kind{};
  std::uint64_t number = 0;
  reader >> kind >> number;
  if (kind == CodeMessage::kOpen) {
    return Open(number, std::move(request.file));
  }
  const auto kept = files_.find(number);
  if (kept == files_.end()) return MessageOf(CodeMessage::kNoFile);
  CodeImage& image = *kept->second.image;
  if (kind == CodeMessage::kClose) {
    bytes_ -= kept->second.bytes;
    files_.erase(kept);
    room_(bytes_);
    return MessageOf(CodeMessage::kAnswer);
  }
  std::vector<std::uint64_t> numbers;
  reader >> numbers;
  if (kind == CodeMessage::kNames) {
    return MessageOf(CodeMessage::kAnswer, image.NamesOf(numbers));
  }
  if (kind == CodeMessage::kMnemonics) {
    const auto found = image.MnemonicsAt(numbers);
    return found.ok() ? MessageOf(CodeMessage::kAnswer, *found)
                      : Failed(found.status());
  }
  numbers.resize(2);
  const auto code = image.InstructionsOf(numbers[0], numbers[1]);
  return code.ok() ? MessageOf(CodeMessage::kAnswer, *code)
                   : Failed(code.status());
}

ScopedFd CodeService::Admit(ScopedFd file, Kept& kept) {
  struct stat status {};
  if (!file.is_open() || fstat(file.get(), &status) != 0) return ScopedFd();
  const auto bytes = static_cast<std::uint64_t>(status.st_size);
  if (bytes > kCodeFileBytes - bytes_) return ScopedFd();
  kept.bytes += bytes;
  bytes_ += bytes;
  room_(bytes_);
  return file;
}

std::string CodeService::Open(std::uint64_t number, ScopedFd file) {
  Kept& kept = files_[number];
  const auto give_up = [&](std::string answer) {
    bytes_ -= kept.bytes;
    files_.erase(number);
    room_(bytes_);
    return answer;
  };
  ScopedFd admitted = Admit(std::move(file), kept);
  if (!admitted.is_open()) return give_up(MessageOf(CodeMessage::kTooLarge));
  auto image = CodeImage::Open(
      std::move(admitted),
      [this, number, questions = 0](const DebugFileQuestion& asked) mutable {
        if (++questions > kMostQuestions) return ScopedFd();
        return Admit(Ask(asked), files_[number]);
      });
  if (!image.ok()) return give_up(Failed(image.status()));
  kept.image = *std::move(image);
  return MessageOf(CodeMessage::kAnswer, kept.image->opened());
}

ScopedFd CodeService::Ask(const DebugFileQuestion& question) {
  Message answer;
  if (!base::SendMessage(socket_,
                         MessageOf(CodeMessage::kQuestion, question)) ||
      !base::ReceiveMessage(socket_, kMostRequestBytes, answer)) {
    return ScopedFd();
  }
  return std::move(answer.file);
}

}  // namespace countrace::rmap
