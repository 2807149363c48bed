// One step of an optimizer on the rows that have a gradient: the updates of a row are summed in C order, and it moves once.
//
//   step_cells   a thread for each cell: rules by cell, where no norm is limited
//   step_rows    a thread for each row: all others
//
// Neither changes `last`, which the threads of a row share: mark_steps does, when they are done.
#pragma once
#include "../optim.h"
#include "fold.cuh"

namespace PS_NAMESPACE {

#define PS_UNPACK(...) __VA_ARGS__
#define PS_OPTIM(name, functor, cells_, rows_, varying_, constants_)                             \
    template <class V> struct rule_##name {                                                       \
        using type = PS_UNPACK functor;                                                           \
        enum { cells = cells_, rows = rows_, varying = varying_, constants = constants_ };         \
    };
#include "../optim.def"
#undef PS_OPTIM

template <class T> using wide = typename typed<T>::type;
template <class Rule> struct is_adam { enum { value = 0 }; };
template <class V> struct is_adam<adam<V>> { enum { value = 1 }; };

struct Rows {
    const i64 *sorted, *order;  // as for fold_rows, both (n,); nullptr: all rows, with the updates of the same places
    i64 n;

    // Whether a row begins at j, and which; `end` becomes the end of its updates.
    PS_D bool begins(i64 j, i64& row, i64& end) const {
        row = sorted ? sorted[j] : j;
        if (sorted && (row < 0 || (j > 0 && sorted[j - 1] == row))) return false;
        end = sorted ? run_end(sorted, j, n) : j + 1;
        return true;
    }
    PS_D i64 place(i64 k) const { return order ? order[k] : k; }
};

template <class T> struct Step {
    using V = wide<T>;
    T* data;                  // (rows, width)
    i64 width;
    V *a, *b, *c, *by_row;    // (rows, width) each, and (rows,): those that the rule has
    const i64* last;          // (rows,) the step that each row has seen last; nullptr where rows that are not touched stay
    const T* updates;         // (n, width); nullptr: rows are only brought up to `step`
    const double* scalars;    // constants, and then (step - first + 1, varying) those of the steps first .. step
    i64 first, step, padding;  // padding: a row that never moves, or -1
    double max_norm;          // of a row after the step, or 0

    // Half types are summed in float; a sum of several is rounded once.
    PS_D V sum(Rows rows, i64 j, i64 end, i64 column) const {
        V sum = typed<T>::load(updates[rows.place(j) * width + column]);
        for (i64 k = j + 1; k < end; ++k) sum = sum + typed<T>::load(updates[rows.place(k) * width + column]);
        return typed<T>::load(typed<T>::store(sum));
    }

    template <class R> PS_D void scalars_of(i64 at, V* h) const {
        const double* varying = scalars + R::constants + (at - first) * R::varying;
#pragma unroll
        for (int k = 0; k < R::varying; ++k) h[k] = (V)varying[k];
#pragma unroll
        for (int k = 0; k < R::constants; ++k) h[R::varying + k] = (V)scalars[k];
    }

    // The first step that a row has missed.
    PS_D i64 missed(i64 row) const { return last[row] < first ? first : last[row] + 1; }
};

template <class V> struct State { V a, b, c; };

template <class R, class T> PS_D State<wide<T>> read_state(const Step<T>& s, i64 at) {
    return {R::cells > 0 ? s.a[at] : 0, R::cells > 1 ? s.b[at] : 0, R::cells > 2 ? s.c[at] : 0};
}
template <class R, class T> PS_D void write_state(const Step<T>& s, i64 at, State<wide<T>> v) {
    if (R::cells > 0) s.a[at] = v.a;
    if (R::cells > 1) s.b[at] = v.b;
    if (R::cells > 2) s.c[at] = v.c;
}

template <class R, class T> PS_D void step_cells(Step<T> s, Rows rows) {
    using V = wide<T>;
    using Rule = typename R::type;
    for (i64 j = first_row(); j < rows.n; j += row_stride()) {
        i64 row, end;
        if (!rows.begins(j, row, end) || row == s.padding) continue;
        for (i64 column = first_column(); column < s.width; column += column_stride()) {
            const i64 at = row * s.width + column;
            T x = s.data[at];
            State<V> v = read_state<R>(s, at);
            V h[R::varying + R::constants];
            const auto move = [&](i64 step, V g) {
                s.template scalars_of<R>(step, h);
                x = typed<T>::store(Rule(h).step(typed<T>::load(x), g, v.a, v.b, v.c));
            };
            if (is_adam<Rule>::value && s.last)
                for (i64 step = s.missed(row), stop = s.updates ? s.step - 1 : s.step; step <= stop; ++step) move(step, 0);
            if (s.updates) move(s.step, s.sum(rows, j, end, column));
            s.data[at] = x;
            write_state<R>(s, at, v);
        }
    }
}

// ---- a row at a time -----------------------------------------------------------------------------------------------

// The sum of squares of value(column), for every column in order.
template <class Value> PS_D double squares(i64 width, Value value) {
    double lane[square_lanes] = {};
    for (i64 start = 0; start < width; start += square_lanes) {
#pragma unroll
        for (int k = 0; k < square_lanes; ++k) {
            if (start + k >= width) break;
            const double v = (double)value(start + k);
            lane[k] = lane[k] + v * v;
        }
    }
    return squares_of(lane);
}

// g becomes the direction, where the rule has one.
template <class R, class T> PS_D void move_row(const Step<T>& s, i64 row, const wide<T>* h, wide<T>* g) {
    using V = wide<T>;
    using Rule = typename R::type;
    const Rule rule(h);
    T* x = s.data + row * s.width;
    const auto cell = [&](i64 column) { return typed<T>::load(x[column]); };
    if constexpr (Rule::by_row) {
        const double weights = Rule::weighs ? squares(s.width, cell) : 0;
        for (i64 column = 0; column < s.width; ++column) {
            State<V> v = read_state<R>(s, row * s.width + column);
            g[column] = rule.direction(cell(column), g[column], v.a, v.b);
            write_state<R>(s, row * s.width + column, v);
        }
        V none = 0;
        const V k = rule.factor(weights, squares(s.width, [&](i64 column) { return g[column]; }), s.width, R::rows ? s.by_row[row] : none);
        for (i64 column = 0; column < s.width; ++column) x[column] = typed<T>::store(rule.finish(cell(column), g[column], k));
    } else {
        for (i64 column = 0; column < s.width; ++column) {
            State<V> v = read_state<R>(s, row * s.width + column);
            x[column] = typed<T>::store(rule.step(cell(column), g ? g[column] : 0, v.a, v.b, v.c));
            write_state<R>(s, row * s.width + column, v);
        }
    }
    if (!(s.max_norm > 0)) return;
    const double norm = root(squares(s.width, cell));
    if (!(norm > s.max_norm)) return;
    const V factor = (V)(s.max_norm / norm);
    for (i64 column = 0; column < s.width; ++column) x[column] = typed<T>::store(cell(column) * factor);
}

// room: (n, width), for the gradients.
template <class R, class T> PS_D void step_rows(Step<T> s, Rows rows, wide<T>* room) {
    using Rule = typename R::type;
    for (i64 j = first_item(); j < rows.n; j += item_stride()) {
        i64 row, end;
        if (!rows.begins(j, row, end) || row == s.padding) continue;
        wide<T> h[R::varying + R::constants];
        if constexpr (is_adam<Rule>::value) {
            if (s.last)
                for (i64 step = s.missed(row), stop = s.updates ? s.step - 1 : s.step; step <= stop; ++step) {
                    s.template scalars_of<R>(step, h);
                    move_row<R>(s, row, h, nullptr);
                }
        }
        if (!s.updates) continue;
        wide<T>* const g = room + j * s.width;
        for (i64 column = 0; column < s.width; ++column) g[column] = s.sum(rows, j, end, column);
        s.template scalars_of<R>(s.step, h);
        move_row<R>(s, row, h, g);
    }
}

PS_D void mark_steps(i64* last, i64 step, i64 padding, Rows rows) {
    for (i64 j = first_item(); j < rows.n; j += item_stride()) {
        i64 row, end;
        if (rows.begins(j, row, end) && row != padding) last[row] = step;
    }
}

}  // namespace PS_NAMESPACE

#define PS_ROWS_PARAMETERS const ps::i64 *sorted, const ps::i64 *order, ps::i64 n
#define PS_ROWS (ps::Rows{sorted, order, n})
#define PS_STEP_PARAMETERS(T)                                                                                             \
    T *data, ps::i64 width, ps::wide<T> *a, ps::wide<T> *b, ps::wide<T> *c, ps::wide<T> *by_row, const ps::i64 *last,     \
        const T *updates, const double *scalars, ps::i64 first, ps::i64 step, ps::i64 padding, double max_norm,           \
        PS_ROWS_PARAMETERS
#define PS_STEP_OF(T) (ps::Step<T>{data, width, a, b, c, by_row, last, updates, scalars, first, step, padding, max_norm})

#define PS_STEP_CELLS(rule, dtype)                                                                                  \
    PS_KERNEL step_cells_##rule##_##dtype(PS_STEP_PARAMETERS(ps::dtype_##dtype)) {                                  \
        ps::step_cells<ps::rule_##rule<ps::wide<ps::dtype_##dtype>>>(PS_STEP_OF(ps::dtype_##dtype), PS_ROWS);       \
    }                                                                                                               \
    PS_ENTRY(step_cells_##rule##_##dtype)
#define PS_STEP_ROWS(rule, dtype)                                                                                   \
    PS_KERNEL step_rows_##rule##_##dtype(PS_STEP_PARAMETERS(ps::dtype_##dtype), ps::wide<ps::dtype_##dtype>* room) { \
        ps::step_rows<ps::rule_##rule<ps::wide<ps::dtype_##dtype>>>(PS_STEP_OF(ps::dtype_##dtype), PS_ROWS, room);  \
    }                                                                                                               \
    PS_ENTRY(step_rows_##rule##_##dtype)
#define PS_MARKS                                                                                                    \
    PS_KERNEL mark_steps(ps::i64* last, ps::i64 step, ps::i64 padding, PS_ROWS_PARAMETERS) {                        \
        ps::mark_steps(last, step, padding, PS_ROWS);                                                               \
    }                                                                                                               \
    PS_ENTRY(mark_steps)
