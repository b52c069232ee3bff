#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace bf_aot {

// A tensor: the layer that makes it, by its place in Plan::layers, or the network's input.
class LayerId {
 public:
  LayerId() = default;
  constexpr LayerId(int number) : number_(number) {}

  constexpr int number() const { return number_; }
  constexpr bool is_layer() const { return number_ >= 0; }
  friend auto operator<=>(const LayerId&, const LayerId&) = default;

  // Layers are in topological order: the next one may read this one.
  constexpr LayerId& operator++() {
    ++number_;
    return *this;
  }
  constexpr LayerId operator++(int) {
    const LayerId before = *this;
    ++number_;
    return before;
  }
  constexpr LayerId& operator--() {
    --number_;
    return *this;
  }
  constexpr LayerId next() const { return number_ + 1; }
  constexpr LayerId before() const { return number_ - 1; }

 private:
  std::int32_t number_ = 0;
};

constexpr LayerId kNetworkInput = -1;

// Layers one after the other. clang 14 does not compile views of libstdc++ 12.
class LayerRange {
 public:
  class Iterator {
   public:
    constexpr Iterator(LayerId at, int step) : at_(at), step_(step) {}
    constexpr LayerId operator*() const { return at_; }
    constexpr Iterator& operator++() {
      at_ = at_.number() + step_;
      return *this;
    }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    LayerId at_;
    int step_;
  };

  // The ids first, first + step, ... up to but without `end`, which they reach; `step` is 1 or -1.
  constexpr LayerRange(LayerId first, LayerId end, int step)
      : first_(first), end_(end), step_(step) {}
  constexpr Iterator begin() const { return {first_, step_}; }
  constexpr Iterator end() const { return {end_, step_}; }
  // The ids of the range from the last to the first.
  constexpr LayerRange reversed() const {
    return {end_.number() - step_, first_.number() - step_, -step_};
  }

 private:
  LayerId first_, end_;
  int step_;
};

// The layers from `first` to the one before `end`; none where that is not behind it.
constexpr LayerRange layer_range(LayerId first, LayerId end) {
  return {first, end < first ? first : end, 1};
}

// Values by layer.
template <typename Value>
class PerLayer : public std::vector<Value> {
  using Base = std::vector<Value>;

 public:
  using Base::Base;
  using Base::operator[];
  using Base::at;
  PerLayer() = default;
  PerLayer(Base values) : Base(std::move(values)) {}
  typename Base::reference operator[](LayerId id) { return Base::at(place(id)); }
  typename Base::const_reference operator[](LayerId id) const { return Base::at(place(id)); }

  LayerId end_id() const { return static_cast<int>(this->size()); }
  auto ids() const { return layer_range(0, end_id()); }
  bool has(LayerId id) const { return id.is_layer() && place(id) < this->size(); }

 private:
  static std::size_t place(LayerId id) { return static_cast<std::size_t>(id.number()); }
};

// Values by tensor: the network's input and each layer.
template <typename Value>
class PerTensor {
 public:
  PerTensor() = default;
  PerTensor(std::size_t layers, Value value) : layers_(layers, value), input_(value) {}
  Value& operator[](LayerId id) { return id.is_layer() ? layers_[id] : input_; }
  const Value& operator[](LayerId id) const { return id.is_layer() ? layers_[id] : input_; }

 private:
  PerLayer<Value> layers_;
  Value input_{};
};

}  // namespace bf_aot
