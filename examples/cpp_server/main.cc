// Serves requests of different lengths: clients put them into a queue, workers answer up to eight in one call.
// usage: serve [REQUESTS [ANSWERS.BIN]]: how many of each client, and a file for requests and answers

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <exception>
#include <iterator>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "classifier.hpp"

namespace {

using Clock = std::chrono::steady_clock;
using Texts = classifier::Texts;
constexpr std::size_t kRows = sizeof(Texts::n) / sizeof(Texts::n[0]);
constexpr std::size_t kLongest = sizeof(Texts::data[0]) / sizeof(Texts::data[0][0]);
constexpr std::size_t kClasses = 4;
constexpr std::size_t kClients = 16, kWorkers = 2;

struct Request {
  std::array<std::int32_t, kLongest> tokens{};
  std::int32_t length = 0;
  std::array<float, kClasses> classes{};
  Clock::time_point asked, answered;
  bool done = false;
};

// What waits to be answered. Clients wait for their own request, workers for any.
class Queue {
 public:
  void ask(Request& request) {
    std::unique_lock lock(mutex_);
    request.asked = Clock::now();
    waiting_.push_back(&request);
    came_.notify_one();
    answered_.wait(lock, [&] { return request.done; });
  }

  // As many as there are, up to a call's; none once the queue is closed and empty.
  std::vector<Request*> take() {
    std::unique_lock lock(mutex_);
    came_.wait(lock, [&] { return closed_ || !waiting_.empty(); });
    const auto count = static_cast<std::ptrdiff_t>(std::min(kRows, waiting_.size()));
    std::vector<Request*> taken(waiting_.begin(), waiting_.begin() + count);
    waiting_.erase(waiting_.begin(), waiting_.begin() + count);
    return taken;
  }

  void give_back(const std::vector<Request*>& requests) {
    const std::scoped_lock lock(mutex_);
    for (Request* request : requests) {
      request->answered = Clock::now();
      request->done = true;
    }
    answered_.notify_all();
  }

  void close() {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
    came_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable came_, answered_;
  std::deque<Request*> waiting_;
  bool closed_ = false;
};

// The memory of a worker's calls: the function itself keeps nothing, so several may run at once.
class Worker {
 public:
  void answer(const std::vector<Request*>& requests) {
    std::fill(std::begin(texts_.n), std::end(texts_.n), 0);
    for (std::size_t row = 0; row < requests.size(); ++row) {
      texts_.n[row] = requests[row]->length;
      std::copy_n(requests[row]->tokens.data(), texts_.n[row], texts_.data[row]);
    }
    classifier::answer(texts_, classes_, workspace_);
    for (std::size_t row = 0; row < requests.size(); ++row) {
      std::copy_n(classes_[row], kClasses, requests[row]->classes.data());
    }
    ++calls_;
  }
  std::size_t calls() const { return calls_; }

 private:
  Texts texts_{};
  float classes_[kRows][kClasses];
  classifier::Workspace<CLASSIFIER_ANSWER_WORKSPACE> workspace_;
  std::size_t calls_ = 0;
};

std::vector<Request> random_requests(std::size_t count) {
  std::mt19937 random(1);
  std::vector<Request> requests(count);
  for (Request& request : requests) {
    request.length = static_cast<std::int32_t>(1 + random() % kLongest);
    for (std::int32_t i = 0; i < request.length; ++i) {
      request.tokens[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(random() % 256);
    }
  }
  return requests;
}

// A line for each doubling of the time.
void print_latencies(const std::vector<Request>& requests) {
  std::array<std::size_t, 32> counts{};
  for (const Request& request : requests) {
    const auto took = std::chrono::duration_cast<std::chrono::microseconds>(request.answered - request.asked).count();
    std::size_t power = 0;
    while (power + 1 < counts.size() && (1LL << (power + 1)) <= took) ++power;
    ++counts[power];
  }
  for (std::size_t power = 0; power < counts.size(); ++power) {
    if (counts[power] == 0) continue;
    const auto stars = 1 + 50 * counts[power] / requests.size();
    std::printf("%8lld us %7zu %s\n", 1LL << power, counts[power], std::string(stars, '*').c_str());
  }
}

void write(const std::vector<Request>& requests, const char* path) {
  std::FILE* file = std::fopen(path, "wb");
  bool written = file != nullptr;
  for (const Request& request : requests) {
    written = written && std::fwrite(&request.length, sizeof request.length, 1, file) == 1 &&
              std::fwrite(request.tokens.data(), sizeof request.tokens, 1, file) == 1 &&
              std::fwrite(request.classes.data(), sizeof request.classes, 1, file) == 1;
  }
  if (file == nullptr || std::fclose(file) != 0 || !written)
    throw std::runtime_error(std::string("cannot write ") + path);
}

void serve(std::size_t of_each_client, const char* path) {
  classifier::check();
  std::vector<Request> requests = random_requests(kClients * of_each_client);
  std::vector<Worker> workers(kWorkers);
  std::vector<std::thread> serving, asking;
  Queue queue;
  for (Worker& worker : workers) {
    serving.emplace_back([&queue, &worker] {
      for (std::vector<Request*> taken = queue.take(); !taken.empty(); taken = queue.take()) {
        worker.answer(taken);
        queue.give_back(taken);
      }
    });
  }
  for (std::size_t client = 0; client < kClients; ++client) {
    asking.emplace_back([&, client] {
      for (std::size_t i = 0; i < of_each_client; ++i) queue.ask(requests[client * of_each_client + i]);
    });
  }
  for (std::thread& thread : asking) thread.join();
  queue.close();
  for (std::thread& thread : serving) thread.join();

  std::size_t calls = 0;
  for (const Worker& worker : workers) calls += worker.calls();
  std::printf("%zu requests in %zu calls\n", requests.size(), calls);
  print_latencies(requests);
  Worker alone;
  for (Request& request : requests) {
    const auto classes = request.classes;
    alone.answer({&request});
    if (classes != request.classes) throw std::runtime_error("an answer is not that of the request alone");
  }
  std::puts("each answer is that of the request alone");
  if (path != nullptr) write(requests, path);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    serve(argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 500, argc > 2 ? argv[2] : nullptr);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
