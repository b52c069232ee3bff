#include "aot/engine/run/run.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "aot/engine/run/recording.h"
#include "bf/dense/boxes.h"
#include "bf/sums/slopes.h"
#include "frontend/diagnostic.h"

namespace bf_aot::engine {
namespace {

constexpr int kMostBoxes = 16;  // side by side

// The memory of a BoxGroup<boxes> or a BoxRows<boxes>, for any number of boxes.
struct GroupMemory {
  std::size_t box[kMostBoxes];
  std::size_t rest[2];
};
static_assert(sizeof(GroupMemory) >= sizeof(bf::BoxGroup<kMostBoxes>));

template <int kBoxes>
bool next_of(GroupMemory& memory, std::size_t count, const bf_status* statuses) {
  bf::BoxGroup<kBoxes> group;
  std::memcpy(&group, &memory, sizeof group);
  const bool more = bf::next_group(group, count, statuses);
  std::memcpy(&memory, &group, sizeof group);
  return more;
}

bool next_group(int boxes, GroupMemory& memory, std::size_t count, const bf_status* statuses) {
  if (boxes == 4) return next_of<4>(memory, count, statuses);
  if (boxes == 8) return next_of<8>(memory, count, statuses);
  BF_CHECK(boxes == kMostBoxes);
  return next_of<kMostBoxes>(memory, count, statuses);
}

// The state of a call while it runs. A worker has a copy, with memory of its own.
class Runner {
 public:
  Runner(const EntryOperations& entry, const CallMemory& memory, bf::Context* state,
         const bf::CachedCall& call, TraceHook hook)
      : entry_(entry), memory_(memory), state_(state), call_(call), hook_(hook) {
    regions_[static_cast<std::size_t>(Region::kWorkspace)] =
        static_cast<std::byte*>(memory.workspace);
    regions_[static_cast<std::size_t>(Region::kContext)] = static_cast<std::byte*>(memory.context);
    // The memory of the first worker, which lies behind what all share, serves where there are no
    // workers.
    regions_[static_cast<std::size_t>(Region::kOwn)] =
        static_cast<std::byte*>(memory.workspace) + entry.entry->storage.planned_bytes;
    given_[static_cast<std::size_t>(calls::Array::kLower)] = memory.lower;
    given_[static_cast<std::size_t>(calls::Array::kUpper)] = memory.upper;
    given_[static_cast<std::size_t>(calls::Array::kOutLower)] = memory.out_lower;
    given_[static_cast<std::size_t>(calls::Array::kOutUpper)] = memory.out_upper;
    given_[static_cast<std::size_t>(calls::Array::kX)] = memory.x;
    given_[static_cast<std::size_t>(calls::Array::kY)] = memory.y;
    given_[static_cast<std::size_t>(calls::Array::kCoefficients)] = memory.coefficients;
    given_[static_cast<std::size_t>(calls::Array::kRanges)] = memory.kept_ranges;
    windows_.resize(static_cast<std::size_t>(entry.windows));
  }

  bf_status run(bool groups);

 private:
  template <typename T>
  T* at(const BufferPlace& place) const {
    return reinterpret_cast<T*>(regions_[static_cast<std::size_t>(place.region)] + place.offset);
  }
  std::byte* at(const Operand& operand) const {
    return regions_[static_cast<std::size_t>(operand.region)] + operand.offset;
  }
  int left(int most) const { return std::min(most, count_ - first_); }

  bf_status sections();
  bf_status run(const Operations& operations);
  bf_status run(const Operation& operation);
  bf_status call(const Operation& operation, void* result);
  bool is_shared(const Operation& operation, Thunk code) const;
  bf_status call_by_shares(const Operation& operation, Thunk code, const Value* values);
  int count_open(const NeuronRanges& of) const;
  void note_ranges(const NeuronRanges& of, Ranges& ranges) const;
  void keep_ranges(const Operation& operation) const;
  Value local(calls::Local which) const;
  void define_window(const Operation& operation);
  void define_row_errors(const Operation& operation);
  bf_status tiles(const Operation& operation);
  bf_status iterations(const Operation& operation);
  bool goes_on(int rows, int all);

  const EntryOperations& entry_;
  const CallMemory& memory_;
  bf::Context* state_;
  bf::CachedCall call_;
  TraceHook hook_;
  int task_ = 0;
  std::int64_t iteration_ = 0, iterations_ = 1;  // of the task's

  std::byte* regions_[kRegions] = {};
  const void* given_[8] = {};
  GroupMemory group_ = {};
  int rows_[kMostBoxes + 1] = {};  // BoxRows
  int count_ = 0, first_ = 0, round_ = 0, rounds_ = 0;
  const std::int32_t* round_neurons_ = nullptr;
  bf::RowErrors errors_ = {};
  double absolute_[kMostBoxes] = {};
  bf::SlopeAscent ascent_;
  bool warm_ = false;
  bool in_tile_ = false;  // that workers share
  std::vector<bf::Window> windows_;
};

Value Runner::local(calls::Local which) const {
  Value made = {};
  switch (which) {
    case calls::Local::kState:
      made.pointer = state_;
      break;
    case calls::Local::kCall:
      made.pointer = &call_;
      break;
    case calls::Local::kGroup:
      made.pointer = &group_;
      break;
    case calls::Local::kCount:
      made.integer = count_;
      break;
    case calls::Local::kRows:
      made.pointer = rows_;
      break;
    case calls::Local::kRound:
      made.integer = round_;
      break;
    case calls::Local::kErrors:
      made.pointer = &errors_;
      break;
    case calls::Local::kAbsolute:
      made.pointer = absolute_;
      break;
    case calls::Local::kAscent:
      made.pointer = &ascent_;
      break;
  }
  return made;
}

// Counts the neurons whose relaxation is not exact.
int Runner::count_open(const NeuronRanges& of) const {
  const bf::AnyListed open = {false, of.function, at<double>(of.centre), at<float>(of.below),
                              at<float>(of.above)};
  int count = 0;
  for (int j = 0; j < static_cast<int>(of.count); ++j) count += open(j) ? 1 : 0;
  return count;
}

// Notes the tightest ranges that any call knew, rounded outward.
void Runner::note_ranges(const NeuronRanges& of, Ranges& ranges) const {
  constexpr double kAll = std::numeric_limits<double>::infinity();
  const auto* const centre = at<double>(of.centre);
  const auto* const below = at<float>(of.below);
  const auto* const above = at<float>(of.above);
  ranges.lower.resize(of.count, -kAll);
  ranges.upper.resize(of.count, kAll);
  for (std::size_t j = 0; j < of.count; ++j) {
    const double lower = std::nextafter(centre[j] - static_cast<double>(below[j]), -kAll);
    const double upper = std::nextafter(centre[j] + static_cast<double>(above[j]), kAll);
    // NaN, which is no bound, fails these comparisons.
    if (lower > ranges.lower[j]) ranges.lower[j] = lower;
    if (upper < ranges.upper[j]) ranges.upper[j] = upper;
  }
}

// Writes what is asked for of the neurons whose ranges the call takes. Only steps of their own have
// such calls: none runs in a tile.
void Runner::keep_ranges(const Operation& operation) const {
  for (const NeuronRanges& of : operation.ranges) {
    const auto layer = static_cast<std::size_t>(of.layer);
    if (memory_.open != nullptr && of.relaxes) (*memory_.open)[layer] = count_open(of);
    if (memory_.ranges != nullptr) note_ranges(of, (*memory_.ranges)[layer]);
  }
}

bf_status Runner::call(const Operation& operation, void* result) {
  Value values[kMostOperands];
  bf::AnyLive live[4];
  bf::AnyListed listed = {};
  std::size_t lists = 0;
  const Operand* const operands = entry_.operands.data() + operation.first_operand;
  for (std::uint32_t i = 0; i < operation.operands; ++i) {
    const Operand& operand = operands[i];
    Value& value = values[i];
    switch (operand.kind) {
      case Operand::Kind::kFixed:
        value = operand.value;
        break;
      case Operand::Kind::kPlace:
        value.pointer = at(operand);
        break;
      case Operand::Kind::kByFirst:
        value.pointer = at(operand) + operand.factor * first_;
        break;
      case Operand::Kind::kByRound:
        value.pointer = reinterpret_cast<const std::byte*>(round_neurons_) + operand.offset;
        break;
      case Operand::Kind::kFloatElement:
        value.real = static_cast<double>(*reinterpret_cast<const float*>(at(operand)));
        break;
      case Operand::Kind::kDoubleElement:
        value.real = *reinterpret_cast<const double*>(at(operand));
        break;
      case Operand::Kind::kGiven: {
        const void* const array = given_[operand.index];
        value.pointer =
            array == nullptr ? nullptr : static_cast<const std::byte*>(array) + operand.offset;
        break;
      }
      case Operand::Kind::kLocal:
        value = local(static_cast<calls::Local>(operand.index));
        break;
      case Operand::Kind::kLeft:
        value.integer = left(operand.index);
        break;
      case Operand::Kind::kWindow:
        value.pointer = &windows_[static_cast<std::size_t>(operand.index)];
        break;
      case Operand::Kind::kLive:
        live[lists] = {reinterpret_cast<const std::int32_t*>(at(operand))};
        value.pointer = &live[lists++];
        break;
      case Operand::Kind::kMany:
        value.integer =
            bf::AnyLive{reinterpret_cast<const std::int32_t*>(at(operand))}.many() ? 1 : 0;
        break;
      case Operand::Kind::kListed: {
        const ListedPlaces& from = entry_.listed[static_cast<std::size_t>(operand.index)];
        listed = {from.all, from.function, at<double>(from.centre), at<float>(from.below),
                  at<float>(from.above)};
        value.pointer = &listed;
        break;
      }
    }
  }
  keep_ranges(operation);
  const Thunk code = entry_.code[operation.call].load(std::memory_order_relaxed);
  if (memory_.seconds == nullptr) {
    if (is_shared(operation, code)) return call_by_shares(operation, code, values);
    code(values, result);
    return BF_OK;
  }
  const auto start = std::chrono::steady_clock::now();
  code(values, result);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  (*memory_.seconds)[operation.call] += took.count();
  return BF_OK;
}

// Code that was compiled for the call has its shape as a constant, and is called as a whole. So is
// a call within a tile that workers share.
bool Runner::is_shared(const Operation& operation, Thunk code) const {
  return memory_.helpers.workers > 1 && !in_tile_ && !operation.shares.empty() &&
         code == operation.own;
}

bf_status Runner::call_by_shares(const Operation& operation, Thunk code, const Value* values) {
  RoundRecorder round(RoundKind::kShares);
  const auto share = [&](int index, unsigned char*) {
    Value own[kMostOperands];
    std::copy(values, values + operation.operands, own);
    own[operation.shape_operand].pointer = operation.shares[static_cast<std::size_t>(index)];
    round.time([&] { code(own, nullptr); });
  };
  return bf::run_tiles(memory_.helpers, {nullptr, 0}, static_cast<int>(operation.shares.size()),
                       share);
}

void Runner::define_window(const Operation& operation) {
  bf::Window made = {};
  bool first = true;
  const auto add = [&](const bf::Window& window) {
    made = first ? window : bf::unite(made, window);
    first = false;
  };
  if (operation.neurons > 0) {
    const auto* const neurons = reinterpret_cast<const std::int32_t*>(
        at<std::byte>(operation.place) + operation.offset * first_);
    add(bf::window_of(*operation.image, neurons, operation.neurons));
  }
  for (const WindowRead& read : operation.reads) {
    const bf::Window& reader = windows_[static_cast<std::size_t>(read.window)];
    switch (read.kind) {
      case calls::WindowRead::Kind::kWhole:
        add(bf::whole(read.shape->in_size));
        break;
      case calls::WindowRead::Kind::kThroughConvolution:
        add(bf::read_window(*read.shape, reader));
        break;
      case calls::WindowRead::Kind::kSame:
        add(reader);
        break;
    }
  }
  windows_[static_cast<std::size_t>(operation.index)] = made;
}

// Computes the errors by the operations of the generated text, in the same order.
void Runner::define_row_errors(const Operation& operation) {
  errors_ = operation.errors;
  errors_.row = at<double>(operation.place);
  for (int b = 0; b < operation.neurons; ++b) {
    double underflow = operation.inputs;
    for (const BufferPlace& link : operation.links) underflow += at<double>(link)[b];
    const double absolute = operation.underflow * underflow;
    if (operation.flag)
      absolute_[b] = absolute;
    else
      errors_.absolute = absolute;
  }
}

bool Runner::goes_on(int rows, int all) {
  if (memory_.watch == nullptr) return true;
  const double here = all > 0 ? static_cast<double>(rows) / all : 0;
  return memory_.watch->goes_on(
      {*entry_.entry, task_, rows, all,
       (static_cast<double>(iteration_) + here) / static_cast<double>(iterations_)});
}

bf_status Runner::tiles(const Operation& operation) {
  if (!operation.flag) {
    for (first_ = 0; first_ < count_; first_ += operation.neurons) {
      if (!goes_on(first_, count_)) throw Stopped();
      if (const bf_status status = run(operation.body)) return status;
    }
    return BF_OK;
  }
  RoundRecorder round(RoundKind::kTiles);
  const auto tile = [&](int index, unsigned char* own) {
    if (!goes_on(index * operation.neurons, count_)) return;  // the executor may be in C
    Runner worker = *this;
    worker.in_tile_ = true;
    worker.first_ = index * operation.neurons;
    worker.regions_[static_cast<std::size_t>(Region::kOwn)] = reinterpret_cast<std::byte*>(own);
    // No body of a tile has tiles, which alone can fail.
    round.time([&] { worker.run(operation.body); });
  };
  const bf::Scratch scratch = {
      static_cast<unsigned char*>(memory_.workspace) + entry_.entry->storage.planned_bytes,
      static_cast<std::size_t>(entry_.entry->worker_storage.planned_bytes)};
  const bf_status status =
      bf::run_tiles(memory_.team, scratch, bf::tiles_of(count_, operation.neurons), tile);
  if (memory_.watch != nullptr && memory_.watch->stopped()) throw Stopped();
  return status;
}

bf_status Runner::iterations(const Operation& operation) {
  if (operation.count == 1) return run(operation.body);
  ascent_ = bf::SlopeAscent();
  const std::int64_t last = operation.index > 0 && warm_ ? operation.index : operation.count;
  iterations_ = last;
  for (std::int64_t iteration = 1;; ++iteration) {
    if (const bf_status status = run(operation.body)) return status;
    if (iteration == last) break;
    iteration_ = iteration;
    if (hook_ != nullptr) hook_(task_, "choose_slopes");
    ascent_.next();
    if (const bf_status status = run(operation.other)) return status;
  }
  iteration_ = 0;
  iterations_ = 1;
  return BF_OK;
}

bf_status Runner::run(const Operation& operation) {
  switch (operation.kind) {
    case Operation::Kind::kCall:
      return call(operation, nullptr);
    case Operation::Kind::kPart:
      if (hook_ != nullptr)
        hook_(task_, entry_.parts[static_cast<std::size_t>(operation.index)].c_str());
      break;
    case Operation::Kind::kBlock:
      return run(operation.body);
    case Operation::Kind::kWhenInside:
      if (call_.inside == operation.flag) return call(operation, nullptr);
      break;
    case Operation::Kind::kDefineWindow:
      define_window(operation);
      break;
    case Operation::Kind::kDefineRows:
      if (operation.flag) {
        (void)call(operation, rows_);
        rounds_ = rows_[operation.neurons];
      } else {
        (void)call(operation, &count_);
      }
      break;
    case Operation::Kind::kDefineRowErrors:
      define_row_errors(operation);
      break;
    case Operation::Kind::kTiles:
      return tiles(operation);
    case Operation::Kind::kRounds:
      for (round_ = 0; round_ < rounds_; ++round_) {
        round_neurons_ = at<const std::int32_t>(operation.place) +
                         static_cast<std::ptrdiff_t>(operation.neurons) * round_;
        if (const bf_status status = run(operation.body)) return status;
      }
      break;
    case Operation::Kind::kIfFits:
      return run(count_ - first_ <= operation.neurons ? operation.body : operation.other);
    case Operation::Kind::kClear:
      std::memset(at<std::byte>(operation.place), 0, static_cast<std::size_t>(operation.count));
      break;
    case Operation::Kind::kColdStart:
      warm_ = (state_->starts & call_.own) != 0;
      if (!warm_) return run(operation.body);
      break;
    case Operation::Kind::kIterations:
      return iterations(operation);
  }
  return BF_OK;
}

bf_status Runner::run(const Operations& operations) {
  for (const Operation& operation : operations)
    if (const bf_status status = run(operation)) return status;
  return BF_OK;
}

bf_status Runner::sections() {
  for (const SectionOperations& section : entry_.sections) {
    if (section.when == calls::RunWhen::kUnlessShared && call_.shared) continue;
    if (section.when == calls::RunWhen::kUnlessKept && call_.kept) continue;
    for (const TaskOperations& task : section.tasks) {
      task_ = task.task;
      if (!goes_on(0, 0)) throw Stopped();
      if (const bf_status status = run(task.body)) return status;
    }
  }
  return BF_OK;
}

bf_status Runner::run(bool groups) {
  if (!groups) {
    const bf_status status = sections();
    if (hook_ != nullptr && status == BF_OK) hook_(-1, "");
    return status;
  }
  if (memory_.group >= 0) {
    for (int i = 0; i <= memory_.group; ++i)
      if (!next_group(entry_.entry->boxes, group_, memory_.count, memory_.statuses)) return BF_OK;
    return sections();
  }
  while (next_group(entry_.entry->boxes, group_, memory_.count, memory_.statuses))
    if (const bf_status status = sections()) return status;
  if (hook_ != nullptr) hook_(-1, "");
  return BF_OK;
}

}  // namespace

bf_status run(const EntryOperations& entry, const CallMemory& memory, bf::Context* state,
              const bf::CachedCall& call, TraceHook hook) {
  return Runner(entry, memory, state, call, hook).run(is_batch(entry.entry->kind));
}

}  // namespace bf_aot::engine
