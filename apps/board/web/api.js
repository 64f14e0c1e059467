// Requests to the server.

export class ApiError extends Error {}

async function answer(response) {
  if (response.ok) return response;
  let message = `${response.status} ${response.statusText}`;
  try { message = (await response.json()).error || message; } catch { /* not JSON */ }
  throw new ApiError(message);
}

export const query = (params) => new URLSearchParams(params).toString();

export async function getJson(path, params = {}, signal = undefined) {
  const text = query(params);
  const response = await answer(await fetch(text ? `${path}?${text}` : path, {signal}));
  return response.json();
}

export async function postJson(path, body, signal = undefined) {
  const response = await answer(await fetch(path, {method: 'POST', body: JSON.stringify(body),
    headers: {'Content-Type': 'application/json'}, signal}));
  return response.json();
}
