// A queue between two stages of the pipeline. A full queue blocks the producer,
// an empty one the consumer. Safe for any number of threads.
#ifndef REQUEST_PIPELINE_BOUNDED_QUEUE_H_
#define REQUEST_PIPELINE_BOUNDED_QUEUE_H_

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

template <typename Item>
class BoundedQueue {
 public:
  explicit BoundedQueue(std::size_t capacity) : capacity_(capacity) {}

  // Returns the number of items in the queue, this one included.
  std::size_t Push(Item item) {
    std::unique_lock lock(mutex_);
    not_full_.wait(lock, [this] { return items_.size() < capacity_; });
    items_.push_back(std::move(item));
    const std::size_t depth = items_.size();
    lock.unlock();
    not_empty_.notify_one();
    return depth;
  }

  // Returns nothing once the queue is closed and empty.
  std::optional<Item> Pop() {
    std::unique_lock lock(mutex_);
    not_empty_.wait(lock, [this] { return closed_ || !items_.empty(); });
    if (items_.empty()) return std::nullopt;
    std::optional<Item> item(std::move(items_.front()));
    items_.pop_front();
    lock.unlock();
    not_full_.notify_one();
    return item;
  }

  // No Push() may follow.
  void Close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    not_empty_.notify_all();
  }

 private:
  const std::size_t capacity_;
  std::mutex mutex_;
  std::condition_variable not_full_, not_empty_;
  std::deque<Item> items_;  // guarded by mutex_
  bool closed_ = false;     // guarded by mutex_
};

#endif  // REQUEST_PIPELINE_BOUNDED_QUEUE_H_
