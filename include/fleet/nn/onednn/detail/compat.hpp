#pragma once
#include <string>

#include <dnnl.hpp>

/// What differs between oneDNN 2.x and 3.x, and nothing else.
namespace fleet::nn::onednn::compat {

using Desc = dnnl::memory::desc;
using Dims = dnnl::memory::dims;

#if DNNL_VERSION_MAJOR >= 3

inline Dims dims(Desc const& desc) { return desc.get_dims(); }
/// The strides of a layout without blocks; empty for one with blocks.
inline Dims plain_strides(Desc const& desc) { return desc.get_inner_nblks() == 0 ? desc.get_strides() : Dims{}; }

inline void append_eltwise(dnnl::post_ops& list, dnnl::algorithm algorithm) { list.append_eltwise(algorithm, 0, 0); }

inline dnnl::matmul::primitive_desc matmul(dnnl::engine const& engine, Desc const& source, Desc const& weights,
                                           Desc const& bias, Desc const& result, dnnl::primitive_attr const& attr) {
  return {engine, source, weights, bias, result, attr};
}

struct Convolution {
  Desc source, weights, bias, result;
  Dims stride, dilation, padding;

  dnnl::convolution_forward::primitive_desc forward(dnnl::engine const& engine, dnnl::prop_kind kind,
                                                    dnnl::primitive_attr const& attr) const {
    return {
        engine,  kind, dnnl::algorithm::convolution_direct, source, weights, bias, result, stride, dilation, padding,
        padding, attr};
  }
  dnnl::convolution_backward_data::primitive_desc backward_data(dnnl::engine const& engine,
                                                                dnnl::convolution_forward::primitive_desc const& hint,
                                                                dnnl::primitive_attr const& attr) const {
    return {
        engine, dnnl::algorithm::convolution_direct, source, weights, result, stride, dilation, padding, padding, hint,
        attr};
  }
  dnnl::convolution_backward_weights::primitive_desc backward_weights(
      dnnl::engine const& engine, dnnl::convolution_forward::primitive_desc const& hint,
      dnnl::primitive_attr const& attr) const {
    return {engine,  dnnl::algorithm::convolution_direct,
            source,  weights,
            bias,    result,
            stride,  dilation,
            padding, padding,
            hint,    attr};
  }
};

struct Pooling {
  dnnl::algorithm algorithm;
  Desc source, result;
  Dims stride, kernel, padding_begin, padding_end;

  dnnl::pooling_forward::primitive_desc forward(dnnl::engine const& engine, dnnl::prop_kind kind,
                                                dnnl::primitive_attr const& attr) const {
    return {engine, kind, algorithm, source, result, stride, kernel, Dims(2, 0), padding_begin, padding_end, attr};
  }
  dnnl::pooling_backward::primitive_desc backward(dnnl::engine const& engine,
                                                  dnnl::pooling_forward::primitive_desc const& hint,
                                                  dnnl::primitive_attr const& attr) const {
    return {engine, algorithm, source, result, stride, kernel, Dims(2, 0), padding_begin, padding_end, hint, attr};
  }
};

inline dnnl::eltwise_forward::primitive_desc eltwise_forward(dnnl::engine const& engine, dnnl::prop_kind kind,
                                                             dnnl::algorithm algorithm, Desc const& data,
                                                             dnnl::primitive_attr const& attr) {
  return {engine, kind, algorithm, data, data, 0.0f, 0.0f, attr};
}
inline dnnl::eltwise_backward::primitive_desc eltwise_backward(dnnl::engine const& engine, dnnl::algorithm algorithm,
                                                               Desc const& data,
                                                               dnnl::eltwise_forward::primitive_desc const& hint,
                                                               dnnl::primitive_attr const& attr) {
  return {engine, algorithm, data, data, data, 0.0f, 0.0f, hint, attr};
}

inline dnnl::softmax_forward::primitive_desc softmax_forward(dnnl::engine const& engine, dnnl::prop_kind kind,
                                                             Desc const& data, int axis,
                                                             dnnl::primitive_attr const& attr) {
  return {engine, kind, dnnl::algorithm::softmax_accurate, data, data, axis, attr};
}
inline dnnl::softmax_backward::primitive_desc softmax_backward(dnnl::engine const& engine, Desc const& data, int axis,
                                                               dnnl::softmax_forward::primitive_desc const& hint,
                                                               dnnl::primitive_attr const& attr) {
  return {engine, dnnl::algorithm::softmax_accurate, data, data, data, axis, hint, attr};
}

#else

inline Dims dims(Desc const& desc) { return desc.dims(); }
/// The strides of a layout without blocks; empty for one with blocks.
inline Dims plain_strides(Desc const& desc) {
  auto const& blocking = desc.data.format_desc.blocking;
  if (desc.data.format_kind != dnnl_blocked || blocking.inner_nblks != 0) return {};
  return {blocking.strides, blocking.strides + desc.data.ndims};
}

inline void append_eltwise(dnnl::post_ops& list, dnnl::algorithm algorithm) {
  list.append_eltwise(1.0f, algorithm, 0, 0);
}

inline dnnl::matmul::primitive_desc matmul(dnnl::engine const& engine, Desc const& source, Desc const& weights,
                                           Desc const& bias, Desc const& result, dnnl::primitive_attr const& attr) {
  return {dnnl::matmul::desc{source, weights, bias, result}, attr, engine};
}

struct Convolution {
  Desc source, weights, bias, result;
  Dims stride, dilation, padding;

  dnnl::convolution_forward::primitive_desc forward(dnnl::engine const& engine, dnnl::prop_kind kind,
                                                    dnnl::primitive_attr const& attr) const {
    return {dnnl::convolution_forward::desc{kind, dnnl::algorithm::convolution_direct, source, weights, bias, result,
                                            stride, dilation, padding, padding},
            attr, engine};
  }
  dnnl::convolution_backward_data::primitive_desc backward_data(dnnl::engine const& engine,
                                                                dnnl::convolution_forward::primitive_desc const& hint,
                                                                dnnl::primitive_attr const& attr) const {
    return {dnnl::convolution_backward_data::desc{dnnl::algorithm::convolution_direct, source, weights, result, stride,
                                                  dilation, padding, padding},
            attr, engine, hint};
  }
  dnnl::convolution_backward_weights::primitive_desc backward_weights(
      dnnl::engine const& engine, dnnl::convolution_forward::primitive_desc const& hint,
      dnnl::primitive_attr const& attr) const {
    return {dnnl::convolution_backward_weights::desc{dnnl::algorithm::convolution_direct, source, weights, bias, result,
                                                     stride, dilation, padding, padding},
            attr, engine, hint};
  }
};

struct Pooling {
  dnnl::algorithm algorithm;
  Desc source, result;
  Dims stride, kernel, padding_begin, padding_end;

  dnnl::pooling_forward::primitive_desc forward(dnnl::engine const& engine, dnnl::prop_kind kind,
                                                dnnl::primitive_attr const& attr) const {
    return {dnnl::pooling_forward::desc{kind, algorithm, source, result, stride, kernel, padding_begin, padding_end},
            attr, engine};
  }
  dnnl::pooling_backward::primitive_desc backward(dnnl::engine const& engine,
                                                  dnnl::pooling_forward::primitive_desc const& hint,
                                                  dnnl::primitive_attr const& attr) const {
    return {dnnl::pooling_backward::desc{algorithm, source, result, stride, kernel, padding_begin, padding_end}, attr,
            engine, hint};
  }
};

inline dnnl::eltwise_forward::primitive_desc eltwise_forward(dnnl::engine const& engine, dnnl::prop_kind kind,
                                                             dnnl::algorithm algorithm, Desc const& data,
                                                             dnnl::primitive_attr const& attr) {
  return {dnnl::eltwise_forward::desc{kind, algorithm, data, 0.0f, 0.0f}, attr, engine};
}
inline dnnl::eltwise_backward::primitive_desc eltwise_backward(dnnl::engine const& engine, dnnl::algorithm algorithm,
                                                               Desc const& data,
                                                               dnnl::eltwise_forward::primitive_desc const& hint,
                                                               dnnl::primitive_attr const& attr) {
  return {dnnl::eltwise_backward::desc{algorithm, data, data, 0.0f, 0.0f}, attr, engine, hint};
}

inline dnnl::softmax_forward::primitive_desc softmax_forward(dnnl::engine const& engine, dnnl::prop_kind kind,
                                                             Desc const& data, int axis,
                                                             dnnl::primitive_attr const& attr) {
  return {dnnl::softmax_forward::desc{kind, data, axis}, attr, engine};
}
inline dnnl::softmax_backward::primitive_desc softmax_backward(dnnl::engine const& engine, Desc const& data, int axis,
                                                               dnnl::softmax_forward::primitive_desc const& hint,
                                                               dnnl::primitive_attr const& attr) {
  return {dnnl::softmax_backward::desc{data, data, axis}, attr, engine, hint};
}

#endif

}  // namespace fleet::nn::onednn::compat
