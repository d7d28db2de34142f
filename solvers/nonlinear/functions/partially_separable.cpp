// compiled by nvcc where CUDA is on
#include "whilst/nonlinear/functions/partially_separable.hpp"

#include <algorithm>
#include <limits>

#include "solvers/nonlinear/functions/gather_tables.hpp"

namespace whilst {
namespace {

constexpr std::string_view minimizing = "minimizing a function";

}  // namespace

template <class T>
struct partially_separable<T>::implementation {
  struct group {
    std::unique_ptr<term_group<T>> terms;
    index_type count;
    std::vector<std::int32_t> unknowns;  ///< term after term
    buffer<std::int32_t> on_place;       ///< unknown after unknown
    index_type first_value = 0, first_gradient = 0, first_hessian = 0, first_block = 0;

    int unknowns_a_term() const { return terms->unknowns_a_term(); }
    index_type pieces() const { return count * unknowns_a_term(); }
    index_type hessian_pieces() const { return pieces() * (unknowns_a_term() + 1) / 2; }
  };
  place where;
  index_type n;
  std::vector<group> groups;
  bool sealed = false, has_hessian = false, has_products = false;
  buffer<double> values_of_terms;
  gather_tables<T> gradient, hessian;
  buffer<std::int32_t> row_offsets, columns;
  buffer<T> values;
  buffer<T> blocks, diagonals, products;  ///< the last two share the gradient's tables

  implementation(place on, index_type unknowns) : where(on), n(unknowns) {}

  typename term_group<T>::arrays arrays_of(const group& g) const {
    return {g.count,
            g.on_place.data(),
            values_of_terms.data() + g.first_value,
            gradient.pieces.data() + g.first_gradient,
            has_hessian ? hessian.pieces.data() + g.first_hessian : nullptr,
            has_products ? blocks.data() + g.first_block : nullptr,
            has_products ? diagonals.data() + g.first_gradient : nullptr,
            has_products ? products.data() + g.first_gradient : nullptr};
  }
  gathered<T> as_gradient(const buffer<T>& pieces) const {
    return {pieces.data(), gradient.offsets.data(), gradient.positions.data()};
  }

  /// Builds the gradient's tables, once all terms are known.
  void seal() {
    if (sealed) return;
    if (groups.empty()) throw error(minimizing, "it has no terms", "Add some");
    std::vector<std::int64_t> owner;
    index_type terms = 0;
    for (group& g : groups) {
      g.first_value = terms;
      terms += g.count;
      g.first_gradient = static_cast<index_type>(owner.size());
      const std::vector<std::int32_t> by_unknown = by_input(g.unknowns, static_cast<std::size_t>(g.count));
      g.on_place = copied(where, by_unknown);
      owner.insert(owner.end(), by_unknown.begin(), by_unknown.end());
    }
    check_number(owner.size(), minimizing, "it has", "derivatives of terms");
    values_of_terms = buffer<double>(where, terms);
    gradient = gather_tables<T>(where, incidence(owner, n), owner.size());
    sealed = true;
  }

  /// Builds the Hessian's tables, for methods that need one.
  void make_pattern() {
    seal();
    if (has_hessian) return;
    std::vector<std::vector<std::int32_t>> rows(static_cast<std::size_t>(n));
    const auto each_pair = [&](const auto& use) {
      for (const group& g : groups) {
        const int K = g.unknowns_a_term();
        for (int a = 0; a < K; ++a)
          for (int b = a; b < K; ++b)
            for (index_type e = 0; e < g.count; ++e) {
              const auto at = static_cast<std::size_t>(e * K);
              use(g.unknowns[at + static_cast<std::size_t>(a)], g.unknowns[at + static_cast<std::size_t>(b)], a == b);
            }
      }
    };
    each_pair([&](std::int32_t i, std::int32_t j, bool) {
      if (i < 0 || j < 0) return;
      rows[static_cast<std::size_t>(i)].push_back(j);
      rows[static_cast<std::size_t>(j)].push_back(i);
    });
    std::vector<std::int32_t> offsets{0}, column;
    for (std::vector<std::int32_t>& row : rows) {
      std::sort(row.begin(), row.end());
      row.erase(std::unique(row.begin(), row.end()), row.end());
      column.insert(column.end(), row.begin(), row.end());
      check_number(column.size(), minimizing, "it has", "entries of the Hessian");
      offsets.push_back(static_cast<std::int32_t>(column.size()));
    }
    const auto entry = [&](std::int32_t i, std::int32_t j) -> std::int64_t {
      const auto begin = column.begin() + offsets[static_cast<std::size_t>(i)];
      const auto end = column.begin() + offsets[static_cast<std::size_t>(i) + 1];
      return std::lower_bound(begin, end, j) - column.begin();
    };
    // A piece off a term's diagonal goes to two entries, so it has two owners, the second as a copy that shares the
    // piece. If a term names an unknown twice, its diagonal gets both.
    std::vector<std::int64_t> owner, mirrored;
    index_type pieces = 0;
    for (group& g : groups) {
      g.first_hessian = pieces;
      pieces += g.hessian_pieces();
    }
    each_pair([&](std::int32_t i, std::int32_t j, bool diagonal) {
      const bool there = i >= 0 && j >= 0;
      owner.push_back(there ? entry(i, j) : -1);
      mirrored.push_back(there && !diagonal ? entry(j, i) : -1);
    });
    owner.insert(owner.end(), mirrored.begin(), mirrored.end());
    check_number(owner.size(), minimizing, "it has", "second derivatives of terms");
    incidence order(owner, static_cast<index_type>(column.size()));
    for (std::int32_t& position : order.positions) position = static_cast<std::int32_t>(position % pieces);
    hessian = gather_tables<T>(where, order, static_cast<std::size_t>(pieces));
    row_offsets = copied(where, offsets);
    columns = copied(where, column);
    values = buffer<T>(where, static_cast<index_type>(column.size()));
    has_hessian = true;
  }

  /// Memory for products, for methods that use them.
  void make_room_for_products() {
    seal();
    if (has_products) return;
    index_type size = 0;
    for (group& g : groups) {
      g.first_block = size;
      size += g.count * g.terms->block_size();
    }
    blocks = buffer<T>(where, size);
    diagonals = buffer<T>(where, gradient.pieces.size());
    products = buffer<T>(where, gradient.pieces.size());
    has_products = true;
  }
};

template <class T>
partially_separable<T>::partially_separable(place where, index_type unknowns) {
  if (unknowns < 1 || unknowns > std::numeric_limits<std::int32_t>::max())
    throw error("making a function", "it has " + std::to_string(unknowns) + " unknowns",
                "Give it 1 or more, and fewer than 2^31");
  implementation_ = std::make_unique<implementation>(where, unknowns);
}
template <class T>
partially_separable<T>::~partially_separable() = default;
template <class T>
partially_separable<T>::partially_separable(partially_separable&&) noexcept = default;
template <class T>
partially_separable<T>& partially_separable<T>::operator=(partially_separable&&) noexcept = default;

template <class T>
void partially_separable<T>::add_group(const char* name, std::unique_ptr<term_group<T>> terms,
                                       std::span<const std::int32_t> unknowns_of_terms) {
  implementation& self = *implementation_;
  const std::string doing = "adding terms '" + std::string(name) + "'";
  if (self.sealed) throw error(doing, "the function is in use already", "Add all terms before making a minimizer");
  const auto K = static_cast<std::size_t>(terms->unknowns_a_term());
  if (unknowns_of_terms.empty()) throw error(doing, "there are none", "Give the unknowns of one term or more");
  if (unknowns_of_terms.size() % K != 0)
    throw error(doing, "there are " + std::to_string(unknowns_of_terms.size()) + " indexes",
                "Give " + std::to_string(K) + " for each term");
  for (std::size_t k = 0; k < unknowns_of_terms.size(); ++k)
    if (unknowns_of_terms[k] < -1 || unknowns_of_terms[k] >= self.n)
      throw error(doing,
                  "term " + std::to_string(k / K) + " names unknown " + std::to_string(unknowns_of_terms[k]) +
                      ", and there are " + std::to_string(self.n),
                  "Unknowns count from 0; -1 stands for none");
  self.groups.push_back({std::move(terms),
                         static_cast<index_type>(unknowns_of_terms.size() / K),
                         {unknowns_of_terms.begin(), unknowns_of_terms.end()},
                         {}});
}

template <class T>
place partially_separable<T>::where() const {
  return implementation_->where;
}
template <class T>
index_type partially_separable<T>::unknowns() const {
  return implementation_->n;
}

template <class T>
void partially_separable<T>::prepare() const {
  implementation_->seal();
}
template <class T>
evaluated<T> partially_separable<T>::evaluate(recorder& run, const T* x) const {
  implementation& self = *implementation_;
  self.seal();
  for (const auto& group : self.groups) group.terms->evaluate(run, self.arrays_of(group), x);
  return {self.values_of_terms.data(), self.values_of_terms.size(), self.gradient.view()};
}

template <class T>
void partially_separable<T>::values_along(recorder& run, const T* x, const T* d, const double* lengths,
                                          double* values) const {
  implementation& self = *implementation_;
  self.seal();
  for (const auto& group : self.groups)
    group.terms->evaluate_along(run, self.arrays_of(group), x, d, lengths, values, &group != &self.groups.front());
}

template <class T>
hessian_view<T> partially_separable<T>::hessian() const {
  implementation& self = *implementation_;
  self.make_pattern();
  return {self.n, self.columns.size(), self.row_offsets.data(), self.columns.data(), self.values.data()};
}

template <class T>
void partially_separable<T>::make_hessian(recorder& run, const T* x, const int* wanted, bool positive) const {
  implementation& self = *implementation_;
  self.make_pattern();
  for (const auto& group : self.groups) group.terms->make_hessians(run, self.arrays_of(group), x, wanted, positive);
  run.step("H", self.columns.size(), gather_entries<T>{self.hessian.view(), self.values.data(), wanted});
}

template <class T>
hessian_products<T> partially_separable<T>::products() const {
  implementation& self = *implementation_;
  self.make_room_for_products();
  return {self.as_gradient(self.products), self.as_gradient(self.diagonals),
          static_cast<double>(self.products.size()) / static_cast<double>(self.n)};
}

template <class T>
void partially_separable<T>::prepare_products(recorder& run, const T* x, const int* wanted, bool positive) const {
  implementation& self = *implementation_;
  self.make_room_for_products();
  for (const auto& group : self.groups) group.terms->prepare_products(run, self.arrays_of(group), x, wanted, positive);
}

template <class T>
void partially_separable<T>::multiply(recorder& run, const T* v) const {
  implementation& self = *implementation_;
  self.make_room_for_products();
  for (const auto& group : self.groups) group.terms->multiply(run, self.arrays_of(group), v);
}

template class partially_separable<float>;
template class partially_separable<double>;

}  // namespace whilst
