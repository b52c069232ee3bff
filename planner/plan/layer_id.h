#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <ranges>
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

// The layers from `first` to the last but `end`.
constexpr auto layer_range(LayerId first, LayerId end) {
  return std::views::iota(first.number(), end.number()) |
         std::views::transform([](int index) { return LayerId(index); });
}

// One thing for each layer.
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

// One thing for each tensor: the network's input and each layer.
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
